/** GET /verification, from the real service on real logs: a sound one, and one changed while the service was stopped. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resealRecord } from '../../support/altered-log.ts';
import { type Answer, ask, clientOf, within } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { makeLongLog } from '../../support/long-log.ts';
import { type Service, serve } from '../../support/service.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
/** A study so long that verifying it takes a few seconds. */
const LONG = CONFIGURATION.name;
const PARTICIPANTS = 30_000;

type Name = 'edc' | 'auditor' | 'ward' | 'reader' | 'blind';

let service: Service;
let keys: Record<Name, string>;
let stream: string;
let wardStream: string;
const receipts: string[] = [];

const verify = (name: Name, parameters: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  ask(service.url, '/verification', { key: keys[name], parameters: { study: 'Sleep', ...parameters } });
const ofStream = ({ results }: Answer, name: string) =>
  results.streams.find((one: { stream: string }) => one.stream === name);

beforeAll(async () => {
  const long = await makeLongLog(
    data,
    {
      edc: { scopes: ['read', 'randomize'] },
      auditor: { scopes: ['audit'] },
      ward: { scopes: ['read', 'audit'], studies: ['Ward'] },
      reader: { scopes: ['read'] },
      blind: { scopes: ['blinded'] },
    },
    { participants: PARTICIPANTS, by: 'edc' },
  );
  keys = long.keys;
  stream = long.streamOf('Sleep');
  wardStream = long.streamOf('Ward');
  service = await serve({ data, studies: TRIALS });
  const edc = clientOf(service.url, keys.edc);
  for (const [id, levels] of [
    ['001', COOK],
    ['002', DUPAGE],
    ['003', COOK],
  ] as const)
    receipts.push((await edc.randomize('Sleep', id, levels)).headers.get('urn-receipt') ?? '');
  for (const id of ['w-1', 'w-2', 'w-3']) await edc.randomize('Ward', id, { ward: 'a' });
});
afterAll(() => service.kill());

describe('a sound study', () => {
  it('is reported as urn verify reports it', async () => {
    const answer = await verify('auditor');
    expect([answer.status, answer.headers.get('urn-revision')]).toEqual([200, '3']);
    const { caution, seconds: _, ...shown } = answer.results;
    expect(caution).toContain('proves less');
    const printed = JSON.parse(
      await commandOk(['verify', '--data', data, '--study', 'Sleep', '--json', '--no-last-checkpoints']),
    );
    const { seconds: _s, trusted: _t, untrustedKey: _u, ...report } = printed;
    expect(shown).toEqual(report);
    expect(shown).toMatchObject({ ok: true, selfConsistentOnly: true, unusedCheckpoints: [] });
    expect(shown.streams.map((one: { stream: string }) => one.stream)).toEqual(['log', 'access', stream]);
    expect(ofStream(answer, stream)).toMatchObject({
      study: 'Sleep',
      sound: true,
      records: 4,
      participants: 3,
    });
  });

  it('has the reading of its report recorded before the report is sent', async () => {
    const shown = () =>
      storedLog(data).flatMap(({ record }) =>
        record.type === 'EvidenceDisclosed' && record.data.what === 'verification' ? [record] : [],
      );
    const before = shown().length;
    expect((await verify('ward', { study: 'Ward' })).status).toBe(200);
    expect(shown().length).toBe(before + 1);
    expect(shown().at(-1)).toMatchObject({
      actor: { user: 'ward' },
      data: { study: 'Ward', toRevision: 3, count: 1 },
    });
    expect(await commandOk(['operations', '--data', data, '--study', 'Ward'])).toContain(
      'was shown the report of a verification up to revision 3 of Ward',
    );
  });

  it('can be compared with a receipt', async () => {
    const answer = await verify('auditor', { checkpoint: receipts[1] ?? '' });
    expect(answer.results).toMatchObject({ ok: true, selfConsistentOnly: true, unusedCheckpoints: [] });
    expect(ofStream(answer, stream).evidence).toMatchObject({
      matching: 1,
      matchingSize: 3,
      failing: 0,
      uncovered: { from: 3, to: 3 },
    });
  });

  it('fails with a receipt signed by another key', async () => {
    const [text = '', signature = ''] = Buffer.from(receipts[1] ?? '', 'base64')
      .toString()
      .split('\n\n');
    const [, name = '', encoded = ''] = signature.trimEnd().split(' ');
    const bytes = Buffer.from(encoded, 'base64');
    const notes = (change: (bytes: Buffer) => void) => {
      const changed = Buffer.from(bytes);
      change(changed);
      return Buffer.from(`${text}\n\n— ${name} ${changed.toString('base64')}\n`).toString('base64');
    };
    for (const [at, because] of [
      [0, 'not-trusted'],
      [bytes.length - 1, 'forged'],
    ] as const) {
      const checkpoint = notes((changed) => {
        changed[at] = (changed[at] ?? 0) ^ 1;
      });
      const { status, results } = await verify('auditor', { checkpoint });
      expect(status).toBe(200);
      expect(results).toMatchObject({
        ok: false,
        unusedCheckpoints: [{ where: 'checkpoint', size: 3, because }],
      });
    }
  });

  it('has reports that fit the schema in the OpenAPI document', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the test checks what is in it.
    const document: any = await (await fetch(`${service.url}/openapi.json`)).json();
    const { get } = document.paths['/verification'];
    expect(get.parameters.map(({ name }: { name: string }) => name)).toEqual(['study', 'checkpoint']);
    expect(get.description).toContain('`audit`');
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const fits = ajv.compile(document.components.schemas.Verification);
    for (const checkpoint of [receipts[0], receipts[2]]) {
      const { results } = await verify('auditor', { checkpoint: checkpoint ?? '' });
      expect(fits(results), JSON.stringify(fits.errors)).toBe(true);
      expect(fits({ ...results, more: 1 })).toBe(false);
    }
  });
});

describe('a request for a verification', () => {
  it('needs the scope audit, and a study that the key may see', async () => {
    for (const name of ['edc', 'reader', 'blind'] as const) {
      const { status, results } = await verify(name);
      expect([status, results]).toEqual([403, []]);
    }
    expect((await ask(service.url, '/verification', { parameters: { study: 'Sleep' } })).status).toBe(401);
    expect((await verify('ward')).status).toBe(404);
    expect((await verify('auditor', { study: 'No such study' })).status).toBe(404);
    expect((await ask(service.url, '/verification', { key: keys.auditor })).message).toBe('study is missing');
    expect((await verify('ward', { study: 'Ward' })).results.streams).toHaveLength(3);
  });

  const note = (text: string) => Buffer.from(text).toString('base64');
  it.each([
    [{ checkpoint: '' }, /^checkpoint is not the base64 of a signed note, as in Urn-Receipt$/],
    [{ checkpoint: 'ab cd' }, /encode each \+ as %2B/],
    [
      { checkpoint: note('nothing') },
      /^checkpoint is not the signed note of a checkpoint: it has no empty line/,
    ],
    [
      {
        checkpoint: note('urn/study-x\n1\nn2mgJfq2Qe8mT8bVwEmmkDZ1qCPVJFyCJDQ1gZYyWLA=\n\n— urn AAAAAAAA\n'),
      },
      /^checkpoint is of a stream other than this study's, which is study-/,
    ],
    [
      { checkpoint: 'x', trust: 'urn+1+2' },
      /^trust is not a parameter of verification; checkpoint is not the base64/,
    ],
  ])('is refused with the reason: %j', async (parameters, message) => {
    const { status, message: actual, results } = await verify('auditor', parameters);
    expect([status, results]).toEqual([400, []]);
    expect(actual).toMatch(message);
  });

  it('must give each parameter only once', async () => {
    const parameters = [
      ['study', 'Sleep'],
      ['checkpoint', receipts[0] ?? ''],
      ['checkpoint', receipts[1] ?? ''],
    ] as const;
    expect((await ask(service.url, '/verification', { key: keys.auditor, parameters })).status).toBe(400);
  });
});

/**
 * Begins a verification, and resolves once it is seen under way. If the request that checks for it gets in first, so
 * that the verification is refused, it is begun again.
 */
async function begun<T>(begin: () => Promise<T>): Promise<{ readonly answer: Promise<T> }> {
  for (;;) {
    const answer = begin();
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    answer.then(over, over);
    while (!isOver) if ((await verify('auditor')).status === 503) return { answer };
  }
}

describe('while a long study is verified', () => {
  it('another verification is refused, and participants are randomized', async () => {
    const edc = clientOf(service.url, keys.edc);
    const posted: number[] = [];
    let isDone = false;
    const { answer: long } = await begun(() => verify('auditor', { study: LONG }));
    const over = long.finally(() => {
      isDone = true;
    });
    const refused = await verify('auditor');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(refused.message).toContain('another verification is under way');
    for (let n = 0; !isDone; n++) posted.push((await edc.randomize(LONG, `meanwhile-${n}`, LEVELS)).status);
    expect(posted.length).toBeGreaterThan(10);
    expect(new Set(posted)).toEqual(new Set([200]));
    const { status, results } = await over;
    expect([status, results.ok]).toEqual([200, true]);
    // What was appended after the start is left out.
    const { records } = ofStream({ results } as Answer, results.streams[2].stream);
    expect(records).toBeGreaterThan(PARTICIPANTS);
    expect(records).toBeLessThan(PARTICIPANTS + 1 + posted.length);
    expect((await verify('auditor')).status).toBe(200);
  });

  it('its progress is shown to those who may verify the study', async () => {
    const progress = (name: Name, study: string) =>
      ask(service.url, '/verification_progress', { key: keys[name], parameters: { study } });
    const seen: number[] = [];
    let isDone = false;
    const { answer: long } = await begun(() => verify('auditor', { study: LONG }));
    const over = long.finally(() => {
      isDone = true;
    });
    expect((await progress('auditor', 'Sleep')).results).toEqual({ records: expect.any(Number) });
    while (!isDone) {
      const { verified, records } = (await progress('auditor', LONG)).results;
      expect(records).toBeGreaterThan(PARTICIPANTS);
      if (verified !== undefined) seen.push(verified);
    }
    await over;
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(new Set(seen).size).toBeGreaterThan(2);
    expect((await progress('auditor', LONG)).results).not.toHaveProperty('verified');
    expect((await progress('edc', LONG)).status).toBe(403);
    expect((await progress('ward', LONG)).status).toBe(404);
  });

  it('a client can disconnect, which ends the verification', async () => {
    const leaving = new AbortController();
    const parameters = new URLSearchParams({ study: LONG });
    const { answer: left } = await begun(() =>
      fetch(`${service.url}/verification?${parameters}`, {
        headers: { 'X-API-Key': keys.auditor },
        signal: leaving.signal,
      }).catch((error: Error) => error.name),
    );
    leaving.abort();
    expect(await left).toBe('AbortError');
    const aborted = () => service.output.stderr.split('\n').filter((line) => line.includes('"aborted":true'));
    await expect.poll(aborted).toHaveLength(1);
    await within(20_000, async () => (await verify('auditor')).status === 200);
  });

  it('SIGTERM answers the client with 503 and does not wait for the verification', async () => {
    const { answer: long } = await begun(() => verify('auditor', { study: LONG }));
    await service.stop();
    const { status, message } = await long;
    expect([status, message]).toEqual([503, 'Not done: the service is shutting down']);
    const [last] = storedLog(data).slice(-1);
    expect(last?.record.type).toBe('ServiceStopped');
  });
});

describe('a log that was changed while the service was stopped', () => {
  beforeAll(async () => {
    resealRecord(data, stream, 2, ({ allocation }) => {
      allocation.treatment = allocation.treatment === 'ZZTREATA' ? 'ZZTREATB' : 'ZZTREATA';
    });
    damageLastRecord(data, wardStream);
    service = await serve({ data });
  });

  it('a change that the service loads without noticing is found, as is what receipts prove about it', async () => {
    expect(
      (await ask(service.url, '/study_participants', { key: keys.reader, parameters: { study: 'Sleep' } }))
        .status,
    ).toBe(200);
    const answer = await verify('auditor', { checkpoint: receipts[2] ?? '' });
    expect([answer.status, answer.results.ok]).toEqual([200, false]);
    expect(ofStream(answer, stream)).toMatchObject({
      sound: false,
      divergence: { revision: 2, participant: '002', field: 'allocation.treatment' },
      notReplayed: 2,
      evidence: { failing: 1, rewritten: { afterSize: 0, upToSize: 4 } },
    });
    const before = await verify('auditor', { checkpoint: receipts[0] ?? '' });
    expect(ofStream(before, stream).evidence).toMatchObject({ matching: 1, matchingSize: 2, failing: 0 });
  });

  it('a study with an unreadable record, which answers nothing else, is verified', async () => {
    const parameters = { study: 'Ward' };
    expect((await ask(service.url, '/records', { key: keys.ward, parameters })).status).toBe(503);
    const answer = await verify('ward', parameters);
    expect([answer.status, answer.results.ok, answer.headers.get('urn-revision')]).toEqual([200, false, '3']);
    expect(ofStream(answer, wardStream)).toMatchObject({
      sound: false,
      divergence: { revision: 3, field: 'leaf' },
      notReplayed: 1,
    });
    // Keys still see no more than they may.
    expect((await verify('ward', { study: 'Patterned' })).status).toBe(404);
    expect((await verify('reader', parameters)).status).toBe(403);
  });

  it('the service stops normally', async () => {
    await service.stop();
    expect((await command(['verify', '--data', data, '--study', 'Patterned'])).code).toBe(0);
  });
});

const LEVELS = Object.fromEntries(CONFIGURATION.factors.map(({ name, levels }) => [name, levels[0] ?? '']));
