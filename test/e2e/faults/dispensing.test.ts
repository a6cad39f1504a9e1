/** While the log cannot be written: what was given out at visits is told again, and the codes of its packs can be broken. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../../support/command.ts';
import { hold } from '../../support/held-lock.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { served } from '../../support/served.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDIES = `
Relief:
  mode: test
  blinding: blinded
  treatments: [Verum, Placebo]
  factors: {site: [Cook, Kane]}
  visits: [V2, V3, V4]
`;
/** It waits for seconds, and asking takes the processor. */
const SELDOM = { timeout: 60_000, interval: 500 };
const data = temporaryFolders()();
const pending = join(data, 'reveals.pending');
const http = served(
  STUDIES,
  {
    site: ['site', '--scope', 'randomize,blinded'],
    desk: ['desk', '--scope', 'correct,blinded'],
    night: ['night', '--scope', 'unblind,blinded'],
  },
  { data },
);
let release: () => Promise<void>;
/** Packs of p1: of V2, what replaced it, and one that was never theirs. */
let packs: Record<'replaced' | 'present' | 'void', string>;
let arm: string;

const post = (name: keyof typeof http.keys, path: string, body: object, by?: string) =>
  http.post(name, path, { study: 'Relief', ...body }, by === undefined ? {} : { 'Idempotency-Key': by });
const V2 = { id: 'p1', visit: 'V2' };
const undone = () => ({ id: 'p1', code: packs.void, to: null, cause: 'not-handed-out', note: 'cancelled' });
const reveal = (whose: { code: string } | { id: string }, category = 'emergency') =>
  post('night', '/code_breaks', { ...whose, category, reason: 'a child swallowed it' });
const codeBreaks = async () => (await http.get('night', '/code_breaks', { study: 'Relief' })).results;

beforeAll(async () => {
  const arms = ['Verum', 'Placebo'];
  const entries = Array.from({ length: 40 }, (_, n) => ({ code: `P-${n}`, treatment: arms[n % 2] ?? '' }));
  await registerPacks(data, 'Relief', [{ entries }]);
  await http.as('site').randomize('Relief', 'p1', { site: 'Cook' });
  const replaced = (await post('site', '/dispensations', V2, 'k2')).results.code;
  arm = entries.find(({ code }) => code === replaced)?.treatment ?? '';
  const worn = { id: 'p1', code: replaced, cause: 'damaged' };
  const { by } = (await post('site', '/code_replacements', worn, 'r2')).results;
  const { code } = (await post('site', '/dispensations', { id: 'p1', visit: 'V3' })).results;
  packs = { replaced, present: by, void: code };
  expect((await post('desk', '/dispensation_corrections', undone(), 'c3')).status).toBe(200);
  release = await hold(join(data, 'urn.sqlite'));
});

describe.sequential('while the log is locked', () => {
  it('a pack is told again to whoever repeats the request, and no other one is given out', async () => {
    expect((await post('site', '/dispensations', { id: 'p1', visit: 'V4' }, 'k4')).status).toBe(503);
    const again = await post('site', '/dispensations', { ...V2, visit: 'v2' }, 'k2');
    expect([again.status, again.headers.get('urn-repeated'), again.results]).toEqual([
      ...[200, 'true', { visit: 'V2', code: packs.replaced }],
    ]);
    const replaced = { id: 'p1', code: packs.replaced, cause: 'damaged' };
    const repeated = await post('site', '/code_replacements', replaced, 'r2');
    expect([repeated.status, repeated.results.by]).toEqual([200, packs.present]);
    const corrected = await post('desk', '/dispensation_corrections', undone(), 'c3');
    expect([corrected.status, corrected.headers.get('urn-repeated'), corrected.results]).toEqual([
      ...[200, 'true', { code: packs.void, from: 'V3', to: null }],
    ]);
    // What only the model says needs no log either.
    expect(await post('site', '/dispensations', V2)).toMatchObject({
      ...{ status: 400, results: { visit: 'V2', code: packs.present } },
    });
    expect((await post('site', '/dispensations', { ...V2, visit: 'V3' }, 'k2')).status).toBe(422);
  });

  it('a code can be broken by the id, and by the pack that somebody has or had; a void one is nobody’s', async () => {
    const asked = performance.now();
    // Each waits for the log for a while.
    const { present, replaced } = packs;
    const whose = [{ id: 'p1' }, { code: present }, { code: replaced }, { code: packs.void }];
    const said = (await Promise.all(whose.map((one) => reveal(one)))).map(({ status, headers, results }) => [
      ...[status, headers.get('urn-recorded'), headers.get('urn-receipt'), results],
    ]);
    const ofSomebody = [expect.objectContaining({ id: 'p1', trt: arm })];
    expect(said).toEqual([
      [200, 'pending', null, ofSomebody],
      [200, 'pending', null, ofSomebody],
      [200, 'pending', null, ofSomebody],
      [200, 'pending', null, [{ code: packs.void, trt: arm }]],
    ]);
    // They wait three seconds for the log. The rest depends on the machine.
    expect(performance.now() - asked).toBeLessThan(20_000);
    const kept = readFileSync(pending, 'utf8');
    expect(kept).toContain('"p1"');
    expect(kept).not.toMatch(/Verum|Placebo/);
    expect(statSync(pending).mode & 0o777).toBe(0o600);
    // Another category can wait.
    for (const one of [{ id: 'p1' }, { code: present }]) {
      const planned = await reveal(one, 'planned');
      expect([planned.status, planned.text.includes(arm)]).toEqual([503, false]);
    }
  });

  it('the code-breaks are in the log once it can be written, and nothing else that was refused', async () => {
    await release();
    const emergencies = async () =>
      (await codeBreaks()).filter(({ category }: { category?: string }) => category === 'emergency');
    await expect.poll(async () => (await emergencies()).length, SELDOM).toBe(4);
    await expect.poll(() => existsSync(pending), SELDOM).toBe(false);
    const logged = storedLog(data).flatMap(({ record: { type, data } }) =>
      type === 'AllocationRevealed' && data.category === 'emergency'
        ? [[data.code, data.participantId] as const]
        : [],
    );
    // Whatever waited longest need not come first.
    expect(new Map(logged)).toEqual(
      new Map([
        [undefined, 'p1'],
        [packs.present, 'p1'],
        [packs.replaced, 'p1'],
        [packs.void, undefined],
      ]),
    );
    expect(logged).toHaveLength(4);
    // The request of V4 may have reached the log: nobody knew whether it would. With its key there is one pack in any case.
    const v4 = await post('site', '/dispensations', { id: 'p1', visit: 'V4' }, 'k4');
    expect(v4.status).toBe(200);
    const dispensed = storedLog(data).filter(({ record }) => record.type === 'PackDispensed');
    expect(dispensed.map(({ record }) => record.data.visit)).toEqual(['V2', 'V3', 'V4']);
    await http.service.stop();
    expect((await command(['verify', '--data', data])).code).toBe(0);
  });
});
