/** Measures listing a study, and starting on a log that is already long. */
import { get } from 'node:http';
import { type Figure, median } from './figures.ts';
import { populate } from './populate.ts';
import type { Processes, Running } from './processes.ts';
import { STUDY } from './study.ts';

export interface ReadingPlan {
  readonly lists: number;
  readonly restarts: number;
  /** Participants of the list and of the restart. */
  readonly listed: number;
  readonly restarted: number;
}

export async function measureReading(processes: Processes, plan: ReadingPlan): Promise<Figure[]> {
  const { folder } = processes;
  const empty = await starts(processes, plan.restarts);
  const reader = await populate({ data: folder }, plan.listed, ['read']);
  const auditor = await populate({ data: folder }, 0, ['read', 'audit']);
  const service = await processes.startService();
  const count = plan.listed.toLocaleString('en-US');
  const target = { relation: 'below', value: 100 } as const;
  const figures: Figure[] = [];
  for (const [scopes, apiKey] of [
    ['read', reader],
    ['read,audit', auditor],
  ] as const) {
    const value = median(await lists(service, apiKey, plan.lists));
    figures.push({ name: `GET, ${count} participants, key with ${scopes}`, value, unit: 'ms', target });
  }
  await service.stop();

  const started = performance.now();
  await populate({ data: folder }, plan.restarted - plan.listed, ['read']);
  const perSecond = (plan.restarted - plan.listed) / ((performance.now() - started) / 1000);
  const full = await starts(processes, plan.restarts);
  const on = `start on ${plan.restarted.toLocaleString('en-US')} participants`;
  return [
    ...figures,
    { name: 'randomized in one process without HTTP, durable', value: perSecond, unit: 'per second' },
    {
      name: `${on}, until /readyz says 200`,
      value: full.ms,
      unit: 'ms',
      target: { relation: 'below', value: (6000 * plan.restarted) / 100_000 },
    },
    { name: 'start on an empty log, until /readyz says 200', value: empty.ms, unit: 'ms' },
    { name: `${on}: resident memory then`, value: full.residentMiB, unit: 'MiB' },
    { name: 'start on an empty log: resident memory then', value: empty.residentMiB, unit: 'MiB' },
  ];
}

/** Times in ms, after a few unmeasured runs. */
async function lists(service: Running, apiKey: string, number: number): Promise<number[]> {
  const path = `/study_participants?study=${encodeURIComponent(STUDY.name)}`;
  const times: number[] = [];
  for (let i = -3; i < number; i++) {
    const started = performance.now();
    await body(service.port, path, { 'X-API-Key': apiKey });
    if (i >= 0) times.push(performance.now() - started);
  }
  return times;
}

async function starts(processes: Processes, number: number): Promise<{ ms: number; residentMiB: number }> {
  const times: number[] = [];
  const resident: number[] = [];
  for (let i = 0; i < number; i++) {
    const started = performance.now();
    const service = await processes.startService();
    times.push(performance.now() - started);
    const metrics = (await body(service.port, '/metrics', {})).toString();
    resident.push(Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]) / 2 ** 20);
    await service.stop();
  }
  return { ms: median(times), residentMiB: median(resident) };
}

function body(port: number, path: string, headers: Record<string, string>): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const request = get({ port, host: '127.0.0.1', path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks));
        else reject(new Error(`GET ${path.split('?')[0]} answered ${response.statusCode}`));
      });
    });
    request.on('error', reject);
  });
}
