import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { collectProcessMetrics } from '../../../src/service/monitoring/process-metrics.ts';

it('no process metric is more precise than a MiB, because it could reveal the length of a name', async () => {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const lines = (await registry.metrics()).split('\n').filter((line) => /^\w+_bytes\b/.test(line));
  // Resident, virtual and heap memory, and each space of the heap in three ways.
  expect(lines.length).toBeGreaterThan(20);
  for (const line of lines) expect(Number(line.split(' ').at(-1)) % (1024 * 1024), line).toBe(0);
  const resident = /^process_resident_memory_bytes (\d+)$/m.exec(lines.join('\n'))?.[1];
  expect(Number(resident)).toBeGreaterThan(10 * 1024 * 1024);
});
