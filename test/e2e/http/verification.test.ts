/** GET /verification, on real logs: a sound one, and one changed while the service was stopped. Its rules: test/unit/verify. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, within } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { LEVELS, LONG, makeLongLog } from '../../support/long-log.ts';
import { served } from '../../support/served.ts';
import { serveHere } from '../../support/service-here.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
/** So many that much happens while their study is verified. */
const PARTICIPANTS = 3000;

type Parameters = Readonly<Record<string, string>>;
interface OfStream {
  readonly stream: string;
}

const receipts: string[] = [];
beforeAll(() => makeLongLog(data, PARTICIPANTS));
const http = served(
  TRIALS,
  {
    edc: ['edc'],
    auditor: ['auditor', '--scope', 'audit'],
    ward: ['ward', '--scope', 'read,audit', '--study', 'Ward'],
    reader: ['reader', '--scope', 'read'],
  },
  {
    data,
    filled: async (one) => {
      const { randomize } = one.as('edc');
      for (const [id, levels] of Object.entries({ '001': COOK, '002': DUPAGE, '003': COOK }))
        receipts.push((await randomize('Sleep', id, levels)).headers.get('urn-receipt') ?? '');
      for (const id of ['w-1', 'w-2', 'w-3']) await randomize('Ward', id, { ward: 'a' });
    },
  },
);
type Name = keyof typeof http.keys;

const get = (path: string, name: Name, parameters: Parameters = {}): Promise<Answer> =>
  http.get(name, path, { study: 'Sleep', ...parameters });
const verify = (name: Name, parameters?: Parameters) => get('/verification', name, parameters);
const streamOf = (study: string) => http.service.log.studies.streamOf(study);
const ofStudy = ({ results }: Pick<Answer, 'results'>, study: string) =>
  results.streams.find(({ stream }: OfStream) => stream === streamOf(study));

describe('a sound study', () => {
  it('is reported as urn verify reports it', async () => {
    const answer = await verify('auditor');
    expect([answer.status, answer.headers.get('urn-revision')]).toEqual([200, '3']);
    const { caution, seconds, ...shown } = answer.results;
    expect(caution).toContain('proves less');
    // In milliseconds, not in 17 digits.
    expect(String(seconds)).toMatch(/^\d+(?:\.\d{1,3})?$/);
    const args = ['verify', '--data', data, '--study', 'Sleep', '--json', '--no-last-checkpoints'];
    const { seconds: _s, trusted: _t, untrustedKey: _u, ...report } = JSON.parse(await commandOk(args));
    expect(shown).toEqual(report);
    expect(shown.streams.map((one: OfStream) => one.stream)).toEqual(['log', 'access', streamOf('Sleep')]);
    expect(ofStudy(answer, 'Sleep')).toMatchObject({ study: 'Sleep', sound: true, participants: 3 });
  });

  it('can be compared with a receipt; the report fits the schema in the OpenAPI document', async () => {
    const answer = await verify('auditor', { checkpoint: receipts[1] ?? '' });
    expect(answer.results).toMatchObject({ ok: true, selfConsistentOnly: true, unusedCheckpoints: [] });
    const evidence = { matching: 1, matchingSize: 3, failing: 0, uncovered: { from: 3, to: 3 } };
    expect(ofStudy(answer, 'Sleep').evidence).toMatchObject(evidence);
    // biome-ignore lint/suspicious/noExplicitAny: the test checks what is in it.
    const document: any = await (await fetch(`${http.url}/openapi.json`)).json();
    const { parameters } = document.paths['/verification'].get;
    expect(parameters.map(({ name }: { name: string }) => name)).toEqual(['study', 'checkpoint']);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const fits = ajv.compile(document.components.schemas.Verification);
    expect(fits(answer.results), JSON.stringify(fits.errors)).toBe(true);
    expect(fits({ ...answer.results, more: 1 })).toBe(false);
  });
});

describe('a request for a verification', () => {
  const note = (text: string) => Buffer.from(text).toString('base64');
  const OTHER = 'urn/study-x\n1\nn2mgJfq2Qe8mT8bVwEmmkDZ1qCPVJFyCJDQ1gZYyWLA=\n\n— urn AAAAAAAA\n';
  it.each<[Name, Parameters, number, RegExp]>([
    ['edc', {}, 403, /^This API key lacks the scope audit$/],
    ['ward', {}, 404, /^There is no study/],
    ['auditor', { checkpoint: 'ab cd' }, 400, /encode each \+ as %2B/],
    ['auditor', { checkpoint: note('nothing') }, 400, /^checkpoint is not the signed note .*no empty line/],
    ['auditor', { checkpoint: note(OTHER) }, 400, /^checkpoint is of a stream other than this study's/],
    ['auditor', { checkpoint: 'x', trust: '1' }, 400, /^trust is not a parameter .*; checkpoint is not/],
  ])('by %s with %j is refused: %i', async (name, parameters, status, message) => {
    const answer = await verify(name, parameters);
    expect(answer).toMatchObject({ status, message: expect.stringMatching(message), results: [] });
  });
});

/**
 * Begins a verification, and resolves once it is seen under way. If the request that checks for it gets in first, so
 * that the verification is refused, it is begun again.
 */
async function begun<T>(begin: () => Promise<T>): Promise<{ answer: Promise<T>; isOver: () => boolean }> {
  for (;;) {
    const answer = begin();
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    answer.then(over, over);
    while (!isOver) if ((await verify('auditor')).status === 503) return { answer, isOver: () => isOver };
  }
}

describe('while a long study is verified', () => {
  it('another verification is refused, participants are randomized, and its progress is shown', async () => {
    const progress = (name: Name, study = LONG) => get('/verification_progress', name, { study });
    const { answer: long, isOver } = await begun(() => verify('auditor', { study: LONG }));
    const refused = await verify('auditor');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(refused.message).toContain('another verification is under way');
    expect((await progress('auditor', 'Sleep')).results).toEqual({ records: expect.any(Number) });
    const posted: number[] = [];
    const seen: number[] = [];
    for (let n = 0; !isOver(); n++) {
      posted.push((await http.as('edc').randomize(LONG, `meanwhile-${n}`, LEVELS)).status);
      const { verified, records } = (await progress('auditor')).results;
      expect(records).toBeGreaterThan(PARTICIPANTS);
      if (verified !== undefined) seen.push(verified);
    }
    expect(posted.length).toBeGreaterThan(10);
    expect(new Set(posted)).toEqual(new Set([200]));
    expect(new Set(seen).size).toBeGreaterThan(2);
    const { status, results } = await long;
    expect([status, results.ok]).toEqual([200, true]);
    // What was appended after the start is left out.
    const { records } = ofStudy({ results }, LONG);
    expect(records).toBeGreaterThan(PARTICIPANTS);
    expect(records).toBeLessThan(PARTICIPANTS + 1 + posted.length);
    expect((await verify('auditor')).status).toBe(200);
    expect((await progress('auditor')).results).not.toHaveProperty('verified');
    expect((await progress('edc')).status).toBe(403);
    expect((await progress('ward')).status).toBe(404);
  });

  it('a client can disconnect, which ends the verification', async () => {
    const leaving = new AbortController();
    const init = { headers: { 'X-API-Key': http.keys.auditor }, signal: leaving.signal };
    const query = new URLSearchParams({ study: LONG });
    const ask = () => fetch(`${http.url}/verification?${query}`, init).catch((error: Error) => error.name);
    const { answer: left } = await begun(ask);
    leaving.abort();
    expect(await left).toBe('AbortError');
    await expect.poll(() => http.service.output.stderr.match(/"aborted":true/g)).toHaveLength(1);
    await within(20_000, async () => (await verify('auditor')).status === 200);
  });

  it('a stop answers the client with 503 and does not wait for the verification', async () => {
    const { answer: long } = await begun(() => verify('auditor', { study: LONG }));
    await http.service.stop();
    expect(await long).toMatchObject({ status: 503, message: 'The service is shutting down' });
    expect(storedLog(data).at(-1)?.record.type).toBe('ServiceStopped');
  });
});

it('a study with an unreadable record, which answers nothing else, is verified', async () => {
  damageLastRecord(data, streamOf('Ward'));
  http.service = await serveHere(data);
  const parameters = { study: 'Ward' };
  expect((await get('/records', 'ward', parameters)).status).toBe(503);
  const answer = await verify('ward', parameters);
  expect([answer.status, answer.results.ok, answer.headers.get('urn-revision')]).toEqual([200, false, '3']);
  const divergence = { revision: 3, field: 'leaf' };
  expect(ofStudy(answer, 'Ward')).toMatchObject({ sound: false, divergence, notReplayed: 1 });
  // Keys still see no more than they may.
  expect((await verify('reader', parameters)).status).toBe(403);
});
