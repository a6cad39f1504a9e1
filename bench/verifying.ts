/** Compares verifying a log with parsing and hashing the same bytes, the minimum for any verification. */
import { fork } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RecordedLog } from '../src/evidence/verify/database/recorded.ts';
import { type Figure, median, pairedRatio } from './figures.ts';
import { populate } from './populate.ts';
import type { Verified } from './verify-once.ts';

export interface VerifyingPlan {
  readonly participants: number;
  readonly rounds: number;
}

export async function measureVerifying(folder: string, plan: VerifyingPlan): Promise<Figure[]> {
  const { participants, rounds } = plan;
  await populate({ data: folder }, participants / 10, ['read']);
  const small = await verify(folder);
  await populate({ data: folder }, participants - participants / 10, ['read']);
  const verified: Verified[] = [];
  const bare: Bare[] = [];
  // Round 0 warms up the optimizing compiler and the system's cache of the file.
  for (let round = 0; round <= rounds; round++) {
    const [one, other] = [await verify(folder), parseAndHash(folder)];
    if (round === 0) continue;
    verified.push(one);
    bare.push(other);
  }
  const times = verified.map(({ seconds }) => seconds);
  const bareTimes = bare.map(({ seconds }) => seconds);
  const on = `verify ${participants.toLocaleString('en-US')} allocations`;
  return [
    {
      ...{ name: on, value: participants / median(times), unit: 'per second' },
      // 100,000 in 8 s.
      target: { relation: 'at least', value: 12_500 },
    },
    {
      name: 'JSON.parse and SHA-256 of the same bytes',
      value: participants / median(bareTimes),
      unit: 'per second',
    },
    {
      name: `${on} / JSON.parse and SHA-256`,
      value: pairedRatio(times, bareTimes),
      unit: '',
    },
    {
      name: `${on}: processor time, of all threads`,
      value: median(verified.map(({ cpuSeconds }) => (cpuSeconds * 1e6) / participants)),
      unit: 'µs each',
    },
    {
      name: 'the same / that of JSON.parse and SHA-256',
      value: pairedRatio(
        verified.map(({ cpuSeconds }) => cpuSeconds),
        bare.map(({ cpuSeconds }) => cpuSeconds),
      ),
      unit: '',
    },
    {
      name: `${on}: resident memory`,
      value: median(verified.map(({ residentMiB }) => residentMiB)),
      unit: 'MiB',
    },
    { name: 'resident memory on a tenth of them', value: small.residentMiB, unit: 'MiB' },
  ];
}

/** Verifies in a separate process, like the command. */
async function verify(folder: string): Promise<Verified> {
  const child = fork(fileURLToPath(new URL('./verify-once.js', import.meta.url)), [folder], {
    execArgv: ['--max-semi-space-size=64'],
  });
  const [verified] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [
    Verified | number,
  ];
  if (typeof verified === 'number' || !verified?.ok) throw new Error('the log could not be verified');
  return verified;
}

interface Bare {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Does not count reading the database. */
function parseAndHash(folder: string): Bare {
  const log = new RecordedLog({ file: join(folder, 'urn.sqlite'), use: 'at-rest' });
  let [ms, cpuMs] = [0, 0];
  for (const stream of log.streams())
    for (const page of log.read(stream, 1000)) {
      const [started, cpuStarted] = [performance.now(), process.cpuUsage()];
      for (const { bytes, leafLength, recordLength } of page) {
        if (!bytes) continue;
        const record = bytes.subarray(leafLength, leafLength + recordLength);
        const sealed = bytes.subarray(leafLength + recordLength);
        for (const part of [record, sealed]) {
          hash('sha256', part);
          JSON.parse(part.toString());
        }
      }
      const { user, system } = process.cpuUsage(cpuStarted);
      ms += performance.now() - started;
      cpuMs += (user + system) / 1000;
    }
  log.close();
  return { seconds: ms / 1000, cpuSeconds: cpuMs / 1000 };
}
