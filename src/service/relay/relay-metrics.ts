/** Metrics of the relay for Prometheus. */
import { Counter, Gauge, Registry } from 'prom-client';
import { collectProcessMetrics } from '../monitoring/metrics.ts';
import type { RelayStatus } from './relay.ts';

/** The metrics of a relay that runs on its own. */
export function makeRelayMetrics(status: () => RelayStatus): Registry {
  const registry = new Registry();
  collectProcessMetrics(registry);
  registerRelay(registry, status);
  return registry;
}

export function registerRelay(registry: Registry, status: () => RelayStatus): void {
  const registers = [registry];
  new Gauge({
    name: 'urn_relay_up',
    help: '1: the relay is connected to Kafka; 0: it is trying to connect; -1: it has stopped, and its log says why',
    registers,
    collect() {
      this.set(status().up);
    },
  });
  new Gauge({
    name: 'urn_relay_lag_records',
    help: 'Records of the log that are not known to be published; all of them until Kafka has answered',
    registers,
    collect() {
      this.set(status().lagRecords);
    },
  });
  new Gauge({
    name: 'urn_relay_lag_seconds',
    help: 'Time since the whole log was last published; 0 while it is',
    registers,
    collect() {
      this.set(status().lagSeconds);
    },
  });
  new Gauge({
    name: 'urn_relay_cut_offsets',
    help: 'Offsets that Kafka has removed from the beginning of the partitions of the feed; 0 if it keeps all records',
    registers,
    collect() {
      this.set(status().cutOffsets);
    },
  });
  new Counter({
    name: 'urn_relay_published_total',
    help: 'Records published by this process, without checkpoints',
    registers,
    collect() {
      this.reset();
      this.inc(status().published);
    },
  });
}
