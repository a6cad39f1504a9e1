import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKey } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const RETRY = { 'Idempotency-Key': 'before' };

/** A service with a participant in each of two studies. */
async function begun<S extends { readonly url: string }>(
  data: string,
  start: () => Promise<S>,
): Promise<{ key: string; service: S }> {
  const key = await issueKey(data, 'edc', '--scope', 'read,randomize,correct');
  const service = await start();
  const { randomize } = clientOf(service.url, key);
  expect((await randomize('Sleep', 'before', COOK, RETRY)).status).toBe(200);
  expect((await randomize('Ward', 'before', { ward: 'a' })).status).toBe(200);
  return { key, service };
}

/** What /readyz and /metrics say about the studies; the states are those that any study is in. */
async function statesOf(url: string) {
  const { message } = await ask(url, '/readyz');
  const writing = await ask(url, '/readyz', { parameters: { 'urn.for': 'writing' } });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const counts = [...metrics.matchAll(/^urn_studies\{state="([a-z-]+)"\} (\d+)$/gm)].filter(
    ([, , n]) => n !== '0',
  );
  return {
    message,
    writing: writing.status,
    states: Object.fromEntries(counts.map(([, state, n]) => [state, Number(n)])),
  };
}

/** Checks what a study that takes no new participants still does. */
async function expectAllButNewParticipants(url: string, key: string): Promise<void> {
  const { config, list, randomize } = clientOf(url, key);
  expect((await config('Sleep')).status).toBe(200);
  expect((await list('Sleep')).results).toHaveLength(1);
  expect((await randomize('Sleep', 'before', COOK, RETRY)).status).toBe(200);
  expect(await randomize('Sleep', 'before', COOK)).toMatchObject({
    status: 400,
    results: [{ id: 'before' }],
  });
  expect((await randomize('Sleep', 'before', DUPAGE)).message).toContain('with other levels of');
  expect((await randomize('Sleep', 'new', { sex: 'Male' })).status).toBe(400);
  // Treatment outlives enrolment, and mistakes are found late.
  const changes = [{ factor: 'sex', from: 'Male', to: 'Female' }];
  const correction = { id: 'before', changes, cause: 'entry', note: 'typo', dry_run: true };
  const corrected = await postJson(url, '/level_corrections', key, { study: 'Sleep', ...correction });
  expect(corrected.status).toBe(200);
}

describe('a paused study', () => {
  const data = newFolder();
  let key: string;
  let service: ServiceHere;
  const pause = (verb: string) =>
    commandOk(['studies', verb, 'Sleep', '--reason', 'a question – to the board', '--data', data]);
  const post = (id: string) => clientOf(service.url, key).randomize('Sleep', id, COOK);

  beforeAll(async () => {
    ({ key, service } = await begun(data, () => serveHere(data, TRIALS)));
    await pause('pause');
    await within(1_000, async () => (await post('before')).headers.get('urn-revision') === '2');
  });
  afterAll(() => service.stop());

  it('takes no new participants: 409', async () => {
    expect(await post('new')).toMatchObject({
      status: 409,
      results: [],
      message: expect.stringMatching(/paused/),
    });
  });

  it('does everything else', async () => {
    await expectAllButNewParticipants(service.url, key);
  });

  it('is shown as paused, with the reason and since when, wherever a study’s state is shown', async () => {
    expect(await statesOf(service.url)).toEqual({
      message: '1 study takes no participants: 1 paused',
      writing: 200,
      states: { open: 4, paused: 1 },
    });
    const [sleep] = JSON.parse(await commandOk(['studies', 'list', '--json', '--data', data]));
    expect(sleep).toMatchObject({ name: 'Sleep', state: 'paused', reason: 'a question – to the board' });
    expect(Date.parse(sleep.since)).toBeLessThanOrEqual(Date.now());
    expect(await commandOk(['studies', 'show', 'Sleep', '--data', data])).toMatch(
      /^state +paused since \S+Z: a question – to the board$/m,
    );
  });

  it('does not affect other studies', async () => {
    expect((await clientOf(service.url, key).randomize('Ward', 'meanwhile', { ward: 'b' })).status).toBe(200);
  });

  it('is paused in every process, even after a restart', async () => {
    const other = await serveHere(data, TRIALS);
    expect((await clientOf(other.url, key).randomize('Sleep', 'new', COOK)).status).toBe(409);
    await other.stop();
  });

  it('takes participants again within a second of being resumed', async () => {
    await pause('resume');
    await within(1_000, async () => (await post('after')).status === 200);
  });

  it('has the reasons for pausing and resuming it in the log', () => {
    const changes = storedLog(data).filter(({ record }) => /^Study(Paused|Resumed)$/.test(record.type));
    expect(changes.map(({ record }) => [record.type, record.data, record.actor.cli])).toEqual([
      ['StudyPaused', { reason: 'a question – to the board' }, true],
      ['StudyResumed', { reason: 'a question – to the board' }, true],
    ]);
  });
});

describe('a study whose file changed', () => {
  const data = newFolder();
  let key: string;
  let service: ServiceHere;

  beforeAll(async () => {
    ({ key, service } = await begun(data, () => serveHere(data, TRIALS)));
    await service.stop();
  });
  afterAll(() => service.stop());

  // Every difference is in unit/configuration/differences.test.ts.
  const changed = [
    ['the order of the treatments', ['[ZZTREATA, ZZTREATB]', '[ZZTREATB, ZZTREATA]']],
    ['a level', ['"30-Dupage County", ', '']],
  ] as const;

  it.each(changed)('takes no new participants: 503 (%s)', async (what, [was, is]) => {
    const studies = TRIALS.replace(was, is);
    expect(studies).not.toBe(TRIALS);
    service = await serveHere(data, studies);
    const { randomize } = clientOf(service.url, key);
    const answer = await randomize('Sleep', 'new', COOK);
    expect(answer).toMatchObject({
      status: 503,
      results: [],
      message: expect.stringMatching(/differs from what was registered \(ask the operator; /),
    });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await randomize('Ward', what, { ward: 'a' })).status).toBe(200);
    // The command is for whoever reads the messages of the service.
    expect(answer.message).not.toMatch(/ZZTREAT|urn /);
    expect(service.output.stderr).toMatch(/study suspended.*urn studies check/);
    if (what === 'a level') await expectAllButNewParticipants(service.url, key);
    await service.stop();
  });

  it('is shown as suspended by the service, and by commands given the same file', async () => {
    const studies = TRIALS.replace('ZZTREATA', 'Other');
    service = await serveHere(data, studies);
    expect(await statesOf(service.url)).toEqual({
      message: '1 study takes no participants: 1 suspended',
      writing: 200,
      states: { open: 4, suspended: 1 },
    });
    await service.stop();
    const file = join(newFolder(), 'studies.yaml');
    writeFileSync(file, studies);
    const args = ['--studies', file, '--data', data];
    const listed = await commandOk(['studies', 'list', ...args]);
    expect(listed).toMatch(
      /^Sleep +test +suspended .*suspended: the studies file differs .*urn studies check/m,
    );
    expect(listed).toMatch(/^Ward +test +open /m);
    expect(await commandOk(['studies', 'show', 'Sleep', ...args])).toMatch(
      /^state +suspended: the studies file/m,
    );
  });

  it('is not ready for writing when no study of the log takes participants', async () => {
    service = await serveHere(data, TRIALS.replaceAll('mode: test', 'mode: live'));
    expect(await statesOf(service.url)).toEqual({
      message: '5 studies take no participants: 5 suspended',
      writing: 503,
      states: { suspended: 5 },
    });
    await service.stop();
  });

  it('is paused rather than suspended if it is both', async () => {
    // Commands reach it through the store.
    service = await serveHere(data, TRIALS.replace('ZZTREATA', 'Other'));
    const post = () => clientOf(service.url, key).randomize('Sleep', 'new', COOK);
    await commandOk(['studies', 'pause', 'Sleep', '--reason', 'changed file', '--data', data]);
    await within(1_000, async () => (await post()).status === 409);
    await commandOk(['studies', 'resume', 'Sleep', '--reason', 'back', '--data', data]);
    await within(1_000, async () => (await post()).status === 503);
    await service.stop();
  });

  it('continues if the file is as before, whatever its target enrollment', async () => {
    service = await serveHere(data, TRIALS.replace('mode: test', 'mode: test\n  target_enrollment: 9'));
    expect((await clientOf(service.url, key).randomize('Sleep', 'after', COOK)).status).toBe(200);
    await service.stop();
  });

  it('continues if the file no longer names it', async () => {
    service = await serveHere(data, 'New:\n  treatments: [a, b]\n  factors: {x: [y]}\n');
    const { randomize, config } = clientOf(service.url, key);
    expect((await randomize('Sleep', 'unnamed', COOK)).status).toBe(200);
    expect((await config('New')).status).toBe(200);
  });
});

describe('a study whose stream is damaged', () => {
  const data = newFolder();
  let key: string;
  let service: ServiceHere;

  beforeAll(async () => {
    const { key: issued, service: first } = await begun(data, () => serveHere(data, TRIALS));
    key = issued;
    await first.stop();
    const [record] = storedLog(data).filter(({ record }) => record.data.configuration?.name === 'Sleep');
    damageLastRecord(data, record?.stream ?? '');
    service = await serveHere(data, TRIALS);
  });
  afterAll(() => service.stop());

  it('answers 503 to everything: nothing may be decided from what cannot be read', async () => {
    const { config, list, randomize } = clientOf(service.url, key);
    for (const answer of [
      await config('Sleep'),
      await list('Sleep'),
      await randomize('Sleep', 'new', COOK),
    ]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).not.toBeNull();
    }
  });

  it('is shown as halted, and the service as ready', async () => {
    expect(await statesOf(service.url)).toEqual({
      message: '1 study takes no participants: 1 halted',
      writing: 200,
      states: { open: 4, halted: 1 },
    });
    const [sleep] = JSON.parse((await command(['studies', 'list', '--json', '--data', data])).stdout);
    expect(sleep).toMatchObject({ name: 'Sleep', state: 'halted', reason: expect.any(String) });
  });

  it('does not affect other studies', async () => {
    expect((await clientOf(service.url, key).randomize('Ward', 'meanwhile', { ward: 'b' })).status).toBe(200);
  });
});
