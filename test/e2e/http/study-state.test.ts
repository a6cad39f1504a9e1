/** Studies that take no participants: what services, probes and commands say of them, and what they still do. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { commandsOn } from '../../support/cli-log.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKey } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const { ok, json } = commandsOn(data);
const RETRY = { 'Idempotency-Key': 'before' };
let key: string;
let service: ServiceHere;

/** With a participant in each of two studies. */
beforeAll(async () => {
  key = await issueKey(data, 'edc', '--scope', 'read,randomize,correct');
  await serving(TRIALS);
  expect((await client().randomize('Sleep', 'before', COOK, RETRY)).status).toBe(200);
  expect((await client().randomize('Ward', 'before', { ward: 'a' })).status).toBe(200);
});
afterEach(() => service.stop());
afterAll(() => service.stop());

async function serving(studies: string): Promise<void> {
  service = await serveHere(data, studies);
}
const client = () => clientOf(service.url, key);
const randomize = (id: string) => client().randomize('Sleep', id, COOK);
const statusOf = async (id: string) => (await randomize(id)).status;

/** What /readyz and /metrics say about the studies; the states are those that any study is in. */
async function states() {
  const { message } = await ask(service.url, '/readyz');
  const writing = await ask(service.url, '/readyz', { parameters: { 'urn.for': 'writing' } });
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  const counts = [...metrics.matchAll(/^urn_studies\{state="([a-z-]+)"\} ([1-9]\d*)$/gm)];
  return [message, writing.status, Object.fromEntries(counts.map(([, state, n]) => [state, Number(n)]))];
}

/** Checks what a study that takes no new participants still does. */
async function expectAllButNewParticipants(): Promise<void> {
  const { config, list, randomize: post } = client();
  expect((await config('Sleep')).status).toBe(200);
  expect((await list('Sleep')).results).toHaveLength(1);
  expect((await post('Sleep', 'before', COOK, RETRY)).status).toBe(200);
  expect(await post('Sleep', 'before', COOK)).toMatchObject({ status: 400, results: [{ id: 'before' }] });
  expect((await post('Sleep', 'before', DUPAGE)).message).toContain('with other levels of');
  expect((await post('Sleep', 'new', { sex: 'Male' })).status).toBe(400);
  // Treatment outlives enrolment, and mistakes are found late.
  const changes = [{ factor: 'sex', from: 'Male', to: 'Female' }];
  const correction = { study: 'Sleep', id: 'before', changes, cause: 'entry', note: 'typo', dry_run: true };
  expect((await postJson(service.url, '/level_corrections', key, correction)).status).toBe(200);
}

const expectOthers = async (id: string) =>
  expect((await client().randomize('Ward', id, { ward: 'b' })).status).toBe(200);

it('a study that is paused takes nobody and does everything else, until it is resumed', async () => {
  await serving(TRIALS);
  await ok`studies pause Sleep --reason 'a question – to the board'`;
  await within(1_000, async () => (await randomize('new')).status === 409);
  expect(await randomize('new')).toMatchObject({
    ...{ status: 409, results: [], message: 'The study is paused and takes no participants' },
  });
  await expectAllButNewParticipants();
  await expectOthers('meanwhile');
  expect(await states()).toEqual([
    ...['1 study takes no participants: 1 paused', 200, { open: 4, paused: 1 }],
  ]);
  const [sleep] = await json`studies list --json`;
  expect(sleep).toMatchObject({ name: 'Sleep', state: 'paused', reason: 'a question – to the board' });
  expect(Date.parse(sleep.since)).toBeLessThanOrEqual(Date.now());
  expect(await ok`studies show Sleep`).toMatch(/^state +paused since \S+Z: a question – to the board$/m);
  await service.stop();
  await serving(TRIALS);
  expect(await statusOf('new')).toBe(409);
  await ok`studies resume Sleep --reason answered`;
  await within(1_000, async () => (await statusOf('after')) === 200);
});

describe('a study whose file changed', () => {
  // Every difference is in unit/configuration/differences.test.ts.
  const changed = TRIALS.replace('[ZZTREATA, ZZTREATB]', '[ZZTREATB, ZZTREATA]');

  it('takes no new participants: 503, for an operator to look at', async () => {
    await serving(TRIALS.replace('"30-Dupage County", ', ''));
    const { list } = client();
    const enrolled = (await list('Sleep')).results.length;
    const answer = await randomize('new');
    expect(answer).toMatchObject({
      ...{ status: 503, results: [] },
      message: expect.stringMatching(/differs from what was registered \(ask the operator; /),
    });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    // The command is for whoever reads the messages of the service.
    expect(answer.message).not.toMatch(/ZZTREAT|urn /);
    expect(service.output.stderr).toMatch(/study suspended.*urn studies check/);
    expect((await list('Sleep')).results).toHaveLength(enrolled);
    await expectOthers('beside');
  });

  it('is shown as suspended by the service, and by commands given the same file; as paused if it is both', async () => {
    await serving(changed);
    expect(await states()).toEqual([
      ...['1 study takes no participants: 1 suspended', 200, { open: 4, suspended: 1 }],
    ]);
    const file = join(newFolder(), 'studies.yaml');
    writeFileSync(file, changed);
    const listed = await ok`studies list --studies ${file}`;
    expect(listed).toMatch(
      /^Sleep +test +suspended .*suspended: the studies file differs .*urn studies check/m,
    );
    expect(listed).toMatch(/^Ward +test +open /m);
    expect(await ok`studies show Sleep --studies ${file}`).toMatch(/^state +suspended: the studies file/m);
    // Commands reach it through the store.
    await ok`studies pause Sleep --reason x`;
    await within(1_000, async () => (await statusOf('new')) === 409);
    await ok`studies resume Sleep --reason x`;
    await within(1_000, async () => (await statusOf('new')) === 503);
  });

  it('is not ready for writing when no study of the log takes participants', async () => {
    await serving(TRIALS.replaceAll('mode: test', 'mode: live'));
    expect(await states()).toEqual([
      ...['5 studies take no participants: 5 suspended', 503, { suspended: 5 }],
    ]);
  });

  it('continues if the file is as before, whatever its target enrollment, or no longer names it', async () => {
    await serving(TRIALS.replace('mode: test', 'mode: test\n  target_enrollment: 9'));
    expect(await statusOf('again')).toBe(200);
    await service.stop();
    await serving('New:\n  treatments: [a, b]\n  factors: {x: [y]}\n');
    expect(await statusOf('unnamed')).toBe(200);
    expect((await client().config('New')).status).toBe(200);
  });
});

it('a study whose stream is damaged answers 503 to everything: nothing may be decided from what cannot be read', async () => {
  const own = newFolder();
  cpSync(data, own, { recursive: true });
  const [record] = storedLog(own).filter(({ record: one }) => one.data.configuration?.name === 'Sleep');
  damageLastRecord(own, record?.stream ?? '');
  service = await serveHere(own, TRIALS);
  const { config, list, randomize: post } = client();
  for (const answer of [await config('Sleep'), await list('Sleep'), await post('Sleep', 'new', COOK)]) {
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).not.toBeNull();
  }
  expect((await post('Ward', 'beside the damage', { ward: 'b' })).status).toBe(200);
  expect(await states()).toMatchObject([...['1 study takes no participants: 1 halted', 200, { halted: 1 }]]);
  const [sleep] = await commandsOn(own).json`studies list --json`;
  expect(sleep).toMatchObject({ name: 'Sleep', state: 'halted', reason: expect.any(String) });
});
