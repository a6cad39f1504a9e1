/** What 0.3.0 wrote of packs at visits (test/vectors/0.3.0) is opened, continued, verified and bundled by this version. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bothVerifiers } from '../../support/both-verifiers.ts';
import { ask, exactJson } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { requiredPython } from '../../support/numpy.ts';
import { CONTENTS, OldLog } from '../../support/old-log.ts';
import { postJson } from '../../support/post-json.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { BundleFiles } from './bundle-file.ts';
import { streamOfStudy } from './database.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();
const old = new OldLog('0.3.0/visits');
const { study } = old;
const EVENTS_OF_0_3_0 = [
  ...[
    'StudyRegistered@3',
    'StudyAmended@2',
    'CodesRegistered@2',
    'PackDispensed@1',
    'DispensationCorrected@1',
  ],
];
const copy = () => old.copyTo(newFolder());
const trusting = old.keys.flatMap((key) => ['--trust', key]);
const kept = ['--checkpoint', old.file('receipts.txt')];

async function bundleOf(data: string, content: string): Promise<string> {
  const out = join(newFolder(), `${content}.zip`);
  await commandOk(['bundle', '--data', data, '--study', study, '--content', content, '--out', out]);
  return out;
}

async function verifiedLog(data: string) {
  const { streams, ok } = JSON.parse(
    await commandOk(['verify', '--json', '--data', data, ...trusting, ...kept]),
  );
  return { ok, of: streams.find((one: { study?: string }) => one.study === study) };
}

it('the log of 0.3.0 has every event and version that 0.2.0 did not know', () => {
  const written = storedLog(copy()).map(({ record: { type, version } }) => `${type}@${version}`);
  expect(written).toEqual(expect.arrayContaining(EVENTS_OF_0_3_0));
});

describe('the log of 0.3.0', () => {
  it('verifies, with its receipts and with what it last signed', async () => {
    expect(await verifiedLog(copy())).toMatchObject({
      ...{ ok: true, of: { sound: true, life: { packs: { dispensed: 18, corrected: 6 } } } },
    });
  });

  it('accounts for its packs, and is explained, as it was then', async () => {
    const csv = await commandOk(['codes', 'accountability', '--study', study, '--csv', '--data', copy()]);
    expect(csv.trimEnd()).toBe(old.text('accountability.csv').trimEnd());
    const { id } = old.explanation;
    const args = ['--study', study, '--id', id, '--json', '--data', copy()];
    expect(exactJson(await commandOk(['explain', ...args]))).toMatchObject(old.explanation);
  });

  it('goes on: a request of then is answered again, and packs are given out to those of then', async () => {
    const data = copy();
    const before = storedLog(data).length;
    const service = await serveHere(data);
    const dispense = (user: string, id: string, visit: string, headers = {}) =>
      postJson(service.url, '/dispensations', old.apiKey(user), { study, id, visit }, headers);
    const first = storedLog(data).find(({ record }) => record.type === 'PackDispensed')?.record;
    const again = await dispense('nurse', 'p1', 'v2', {
      ...{ 'Idempotency-Key': 'tablet-1', 'X-On-Behalf-Of': 'Dr. K.' },
    });
    expect([again.status, again.headers.get('urn-repeated'), again.results]).toEqual([
      ...[200, 'true', { visit: 'V2', code: first.data.code }],
    ]);
    const shown = await ask(service.url, '/study_participants', {
      ...{ key: old.apiKey('auditor'), parameters: { study, id: 'q2' } },
    });
    const visits = shown.results[0]['urn.packs'].map((pack: { visit: string }) => pack.visit);
    expect(visits).toEqual(['V3', 'V2', 'Week 12']);
    expect((await dispense('nurse', 'q2', 'week 12')).status).toBe(400);
    const next = await dispense('nurse', 'p1', 'Week 24');
    expect(next.results, next.text).toMatchObject({ visit: 'Week 24' });
    // Of the arm that was stopped.
    expect((await dispense('pharmacy', 'p6', 'V2')).status).toBe(409);
    await service.stop();
    const since = storedLog(data).slice(before);
    expect(since.filter(({ record }) => record.type === 'PackDispensed')).toHaveLength(1);
    expect(await verifiedLog(data)).toMatchObject({ ok: true, of: { life: { packs: { dispensed: 19 } } } });
  });
});

describe.skipIf(found === undefined)('both verifiers', () => {
  const verify = bothVerifiers(python);

  it('find in the bundle of 0.3.0 what 0.3.0 found in it', async () => {
    const { code, stdout, own } = await verify(old.file('full.zip'));
    expect(code, stdout).toBe(0);
    expect(own.report?.streams).toMatchObject(JSON.parse(old.text('findings.json')));
    expect(stdout).not.toMatch(/^FAILED/m);
    const { code: trusted } = await verify(old.file('full.zip'), [...trusting, ...kept]);
    expect(trusted).toBe(0);
  });

  it.each(CONTENTS)('accept its bundle as this version makes it, content %s', async (content) => {
    const data = copy();
    const made = await bundleOf(data, content);
    const { code, stdout, own } = await verify(made, [...trusting, ...kept]);
    expect(code, stdout).toBe(0);
    expect(own.report?.streams.at(-1)?.warnings.map(({ code, revision }) => [code, revision])).toEqual(
      JSON.parse(old.text('findings.json'))
        .at(-1)
        .warnings.map(({ code, revision }: { code: string; revision: number }) => [code, revision]),
    );
    if (content !== 'full') return;
    const stream = streamOfStudy(data, study);
    const [now, then] = [made, old.file('full.zip')].map((file) =>
      BundleFiles.unpack(python, file).rows(stream),
    );
    expect(now).toEqual(then);
  });
});
