/**
 * Metrics of the process. Sizes are rounded: /metrics needs no key, and memory to the byte would reveal the length of texts
 * that the process handles, such as the names of arms.
 */
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

const MIB = 1024 * 1024;

export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const metric of registry.getMetricsAsArray())
    if (metric instanceof Gauge && metric.name.endsWith('_bytes')) roundToMib(metric);
}

function roundToMib(gauge: Gauge): void {
  const exact = gauge.get.bind(gauge);
  gauge.get = async () => {
    const metric = await exact();
    const values = metric.values.map((one) => ({ ...one, value: Math.round(one.value / MIB) * MIB }));
    return { ...metric, values };
  };
}
