import { afterAll, beforeAll, expect, it } from 'vitest';
import { Counts } from '../../../src/core/methods/counts.ts';
import { allocate } from '../../../src/core/methods/urn/allocate.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { clientOf, exactResults } from '../../support/client.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { urnOf } from '../../support/urn-study.ts';

const CLIENTS = 64;
const ROUNDS = 3;
const SEXES = ['Male', 'Female'];
const SITES = ['north', 'south', 'west'];
const STUDY = {
  name: 'Rush',
  mode: 'test' as const,
  D: 'variance' as const,
  urnSelection: 'method1' as const,
  ...{ w: 1, alpha: 0, beta: 1 },
  treatments: ['A', 'B', 'C'],
  factors: [
    { name: 'sex', levels: SEXES },
    { name: 'site', levels: SITES },
  ],
};

const data = temporaryFolders()();
let services: (Service | ServiceHere)[];
let keys: Record<'edc' | 'auditor', string>;

beforeAll(async () => {
  keys = await issueKeys(data, { edc: ['edc'], auditor: ['auditor', '--scope', 'read,audit'] });
  const { name, D, treatments } = STUDY;
  const studies = JSON.stringify({
    [name]: { mode: 'test', D, treatments, factors: { sex: SEXES, site: SITES } },
  });
  // Two processes on one log: each must build on what the other has decided.
  services = [await serveHere(data, studies), await serve({ data, studies })];
});
afterAll(() => Promise.all(services.map((service) => service.stop())));

const client = (i: number) => clientOf(services[i % services.length]?.url ?? '', keys.edc);
const levels = (i: number) => ({ sex: SEXES[i % 2] ?? '', site: SITES[i % 3] ?? '' });
const everyone = Array.from({ length: CLIENTS }, (_, i) => i);

it('64 clients that want the same id at once get one record', async () => {
  const answers = await Promise.all(everyone.map((i) => client(i).randomize('Rush', 'wanted', levels(0))));
  const statuses = answers.map(({ status }) => status).toSorted();
  expect(statuses).toEqual([200, ...Array(CLIENTS - 1).fill(400)]);
  const records = new Set(answers.map(({ results }) => JSON.stringify(results)));
  expect(records.size).toBe(1);
});

it('64 clients that retry one request at once are all answered with its record', async () => {
  const retry = { 'Idempotency-Key': 'all-the-same' };
  const answers = await Promise.all(
    everyone.map((i) => client(i).randomize('Rush', 'retried', levels(0), retry)),
  );
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]?.status).toBe(200);
});

it('64 clients with their own ids are all served', async () => {
  const answers = everyone.map(async (i) => {
    const statuses = [];
    for (let round = 0; round < ROUNDS; round++) {
      const { status, results } = await client(i + round).randomize(
        'Rush',
        `${i}-${round}`,
        levels(i * 7 + round),
      );
      statuses.push(status);
      expect(results).toHaveLength(1);
    }
    return statuses;
  });
  expect((await Promise.all(answers)).flat()).toEqual(Array(CLIENTS * ROUNDS).fill(200));
});

it('each allocation starts from the state that the previous one left', async () => {
  const auditor = clientOf(services[0]?.url ?? '', keys.auditor);
  const listed = async () => exactResults(await auditor.list('Rush')) as Listed[];
  await expect.poll(async () => (await listed()).length).toBe(2 + CLIENTS * ROUNDS);
  const records = await listed();
  expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);

  const { starting_seed } = exactResults(await auditor.config('Rush')) as { starting_seed: bigint };
  let state = Pcg64.fromSeed(BigInt(starting_seed)).snapshot();
  const counts = new Counts(urnOf(STUDY));
  for (const { trt, bg_state, f_sex, f_site } of records) {
    const indexes = [SEXES.indexOf(f_sex), SITES.indexOf(f_site)];
    const { treatment, slot, draw } = allocate(urnOf(STUDY), counts, indexes, state);
    const { bgStateAfter } = draw;
    expect(trt).toBe(treatment);
    expect(bg_state.state.state).toBe(BigInt(bgStateAfter.state.state));
    expect(bg_state).toMatchObject({ has_uint32: bgStateAfter.has_uint32, uinteger: bgStateAfter.uinteger });
    counts.add(indexes, slot);
    state = bgStateAfter;
  }
});

interface Listed {
  readonly id: string;
  readonly f_sex: string;
  readonly f_site: string;
  readonly trt: string;
  readonly bg_state: { has_uint32: number; uinteger: number; state: { inc: bigint; state: bigint } };
}
