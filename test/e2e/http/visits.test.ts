/** Visits and stopped arms over HTTP: amended, refused, shown to sites and blinded readers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, within } from '../../support/client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const data = temporaryFolders()();
const of = (name: string, more = '') => `
${name}:
  mode: test
  treatments: [A, B, Placebo]
  factors: {sex: [Male, Female]}
${more}`;
const STUDIES = `${of('Sleep', '  visits: [V2, Week 12]')}${of('Plain')}`;
let service: ServiceHere;
let keys: Record<'manager' | 'reader', string>;

const designOf = async (study: string, key = keys.reader) =>
  (await ask(service.url, '/study_design', { key, parameters: { study } })).results.design;

async function amend(study: string, changes: readonly object[], more: object = {}) {
  const { amendment } = await designOf(study);
  const body = { study, amendment: amendment + 1, changes, reason: 'protocol 3', ...more };
  return postJson(service.url, '/amendments', keys.manager, body);
}

const visits = (...value: string[]) => ({ kind: 'visits', value });
const arm = (kind: string, treatment = 'Placebo') => ({ kind, treatment });

beforeAll(async () => {
  service = await serveHere(data, STUDIES);
  keys = await issueKeys(data, {
    manager: ['data-manager', '--scope', 'manage,blinded'],
    reader: ['monitor', '--scope', 'blinded'],
  });
  await within(
    5_000,
    async () =>
      (await ask(service.url, '/study_design', { key: keys.reader, parameters: { study: 'Sleep' } }))
        .status === 200,
  );
});
afterAll(() => service.stop());

describe('the visits of a study', () => {
  it('are shown as registered, and only where there are some', async () => {
    expect(await designOf('Sleep')).toMatchObject({ visits: ['V2', 'Week 12'] });
    const plain = await designOf('Plain');
    expect(plain).not.toHaveProperty('visits');
    expect(plain).not.toHaveProperty('stopped_treatments');
  });

  it('are amended, after a dry run that leaves no trace', async () => {
    const changes = [visits('V2', 'V3', 'Week 12')];
    const tried = await amend('Sleep', changes, { dry_run: true });
    expect(tried.results.effect).toMatchObject({
      counts: 'stays',
      design: { visits: ['V2', 'V3', 'Week 12'] },
    });
    expect((await designOf('Sleep')).visits).toEqual(['V2', 'Week 12']);
    const made = await amend('Sleep', changes);
    expect([made.status, made.results.design.visits]).toEqual([200, ['V2', 'V3', 'Week 12']]);
    expect((await designOf('Sleep')).visits).toEqual(['V2', 'V3', 'Week 12']);
  });

  it.each([
    [400, [visits('V2', 'V3 ')], 'changes[0].value[1]: is no name of a visit'],
    [
      400,
      [visits(...Array.from({ length: 101 }, (_, i) => `V${i}`))],
      'changes[0].value: has more than 100 items',
    ],
    [400, [{ kind: 'visits' }], 'changes[0].value is missing'],
    [422, [visits('V2', 'v2')], 'changes[0].value[1]: "v2" is the same as visit 1'],
    [422, [visits('V2', 'a')], 'changes[0].value[1]: "a" is, or contains, the name of an arm'],
    [422, [arm('arm-added', 'week')], 'changes[0].treatment: the visit "Week 12" is, or contains, this name'],
    [422, [visits('V2', 'V3', 'Week 12')], 'changes[0].kind: it is so already'],
  ])('are refused with %d as %j', async (status, changes, message) => {
    const answer = await amend('Sleep', changes);
    expect([answer.status, answer.message]).toEqual([status, expect.stringContaining(message)]);
  });

  it('go again', async () => {
    expect((await amend('Sleep', [visits()])).status).toBe(200);
    expect(await designOf('Sleep')).not.toHaveProperty('visits');
  });
});

describe('an arm', () => {
  it('is stopped once it is closed, until it is reopened', async () => {
    expect(await amend('Plain', [arm('arm-stopped')])).toMatchObject({
      ...{ status: 422, message: 'changes[0].treatment: it is not closed' },
    });
    expect((await amend('Plain', [arm('arm-closed')])).status).toBe(200);
    const stopped = await amend('Plain', [arm('arm-stopped')]);
    expect(stopped.results.design).toMatchObject({
      ...{ closed_treatments: ['Placebo'], stopped_treatments: ['Placebo'] },
    });
    expect(await amend('Plain', [arm('arm-stopped')], { history: 'keep' })).toMatchObject({
      ...{ status: 422, message: expect.stringContaining('it is stopped already') },
    });
    expect((await amend('Plain', [arm('arm-reopened')])).status).toBe(200);
    expect(await designOf('Plain')).not.toHaveProperty('stopped_treatments');
  });
});
