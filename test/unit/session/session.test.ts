/** A session: its times, its cookie, the key under which that is sealed, and a log that may take no records. */

import { randomBytes } from 'node:crypto';
import { CompactEncrypt, type CompactJWEHeaderParameters, generateKeyPair } from 'jose';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OperationsFact } from '../../../events/operations.ts';
import type { Runner } from '../../../projections/runner.ts';
import { endedSessions } from '../../../projections/sessions.ts';
import { DomainError } from '../../../src/base/errors.ts';
import type { KeyActor } from '../../../src/service/operations/recorder.ts';
import { openingKeys, parseSessionKeys } from '../../../src/service/session/session-key.ts';
import {
  isCurrent,
  newSession,
  renewed,
  type Session,
  Sessions,
  seal,
  unseal,
} from '../../../src/service/session/sessions.ts';
import { LOG_ID } from '../../support/fixed-tools.ts';

const MINUTE = 60_000;
const NOW = Date.parse('2026-11-23T12:00:00.000Z');
const session = (beganAt: number, usedAt = beganAt): Session => {
  return { sessionId: 'yzObQH5PXuXXhAOEv8oClw', keyId: 'k0011', beganAt, usedAt };
};

describe('a session', () => {
  it('has an id of 128 random bits', () => {
    const ids = Array.from({ length: 100 }, () => newSession('k0011', NOW).sessionId);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(Buffer.from(id, 'base64url')).toHaveLength(16);
    expect(newSession('k0011', NOW)).toMatchObject({ keyId: 'k0011', beganAt: NOW, usedAt: NOW });
  });

  it.each([
    ['that has just begun', session(NOW), true],
    ['whose last act is almost 30 minutes old', session(NOW - 30 * MINUTE + 1), true],
    ['whose last act is 30 minutes old', session(NOW - 30 * MINUTE), false],
    ['that has been in use for almost 12 hours', session(NOW - 720 * MINUTE + 1, NOW), true],
    ['that has been in use for 12 hours', session(NOW - 720 * MINUTE, NOW), false],
    ['begun by a clock that is 60 s ahead', session(NOW + MINUTE), true],
    ['begun more than 60 s from now', session(NOW + MINUTE + 1, NOW), false],
    ['used more than 60 s from now', session(NOW, NOW + MINUTE + 1), false],
  ])('%s', (_, one, isValid) => {
    expect(isCurrent(one, NOW)).toBe(isValid);
  });

  it('is renewed by an act a second later, and not before', () => {
    expect(renewed(session(NOW), NOW + 999)).toBeUndefined();
    expect(renewed(session(NOW), NOW + 1000)).toEqual(session(NOW, NOW + 1000));
    // Another instance may have a clock that is behind.
    expect(renewed(session(NOW), NOW - 5000)).toBeUndefined();
  });
});

const ONE = Buffer.alloc(32, 1);
const TWO = Buffer.alloc(32, 2);
const text = (key: Uint8Array) => Buffer.from(key).toString('base64url');
const REPLACED = '2026-11-23T08:00:00.000Z';

describe('the file of the session key', () => {
  it('holds the key, and perhaps the one before it', () => {
    expect(parseSessionKeys(`${text(ONE)}\n`, 'f')).toEqual({ current: ONE });
    expect(parseSessionKeys(`${text(ONE)}\n${text(TWO)} replaced ${REPLACED}\n`, 'f')).toEqual({
      current: ONE,
      previous: { key: TWO, replacedAt: Date.parse(REPLACED) },
    });
  });

  it.each([
    '',
    '\n',
    text(ONE).slice(1),
    `${text(ONE)} `,
    `${text(ONE)}\n${text(TWO)}\n`,
    `${text(ONE)}\n${text(TWO)} replaced yesterday\n`,
    `${text(ONE)}\n${text(TWO)} replaced ${REPLACED}\n${text(TWO)} replaced ${REPLACED}\n`,
    `${text(ONE)}=\n`,
    'PRIVATE+KEY+urn+12345678+abc\n',
  ])('is nothing else: %j', (other) => {
    const reading = expect(() => parseSessionKeys(other, 'data/session-key'));
    reading.toThrow(/^data\/session-key holds no session key(?!.*AQEB)/);
  });
});

it('a cookie can be opened with the key before the current one, for 12 hours', () => {
  const at = Date.parse(REPLACED);
  const keys = { current: ONE, previous: { key: TWO, replacedAt: at } };
  expect(openingKeys(keys, at)).toEqual([ONE, TWO]);
  expect(openingKeys(keys, at + 720 * MINUTE - 1)).toEqual([ONE, TWO]);
  expect(openingKeys(keys, at + 720 * MINUTE)).toEqual([ONE]);
  expect(openingKeys({ current: ONE }, at)).toEqual([ONE]);
});

const KEY = randomBytes(32);
const SESSION = newSession('k0011', NOW);

describe('a sealed cookie', () => {
  it('holds the session, which nobody can read without the key, and differs each time', async () => {
    const cookie = await seal(SESSION, KEY, LOG_ID);
    expect(await unseal(cookie, [KEY], LOG_ID)).toEqual(SESSION);
    expect(cookie).toMatch(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);
    const readable = cookie.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
    for (const secret of [SESSION.sessionId, SESSION.keyId]) expect(readable.join(' ')).not.toContain(secret);
    expect(await seal(SESSION, KEY, LOG_ID)).not.toBe(cookie);
    const longest = { ...SESSION, onBehalfOf: '😀'.repeat(128) };
    const long = await seal(longest, KEY, LOG_ID);
    expect(await unseal(long, [KEY], LOG_ID)).toEqual(longest);
    // Browsers keep cookies up to 4096 characters, with their attributes.
    expect(long.length).toBeLessThan(2048);
  });

  it('is opened by any of the keys, and by no other', async () => {
    const cookie = await seal(SESSION, KEY, LOG_ID);
    expect(await unseal(cookie, [randomBytes(32), KEY], LOG_ID)).toEqual(SESSION);
    expect(await unseal(cookie, [randomBytes(32)], LOG_ID)).toBeUndefined();
    expect(await unseal(cookie, [], LOG_ID)).toBeUndefined();
  });

  it('is not valid for another log, even under the same key', async () => {
    const cookie = await seal(SESSION, KEY, '0193a8e0-0000-7000-8000-00000000cafe');
    expect(await unseal(cookie, [KEY], LOG_ID)).toBeUndefined();
    const [, ...rest] = cookie.split('.');
    const [header] = (await seal(SESSION, KEY, LOG_ID)).split('.');
    expect(await unseal([header, ...rest].join('.'), [KEY], LOG_ID)).toBeUndefined();
  });

  it('is refused with any bit changed', async () => {
    const cookie = await seal(SESSION, KEY, LOG_ID);
    const parts = cookie.split('.');
    for (const [i, part] of parts.entries())
      for (let at = 0; at < Buffer.from(part, 'base64url').length; at++) {
        const bytes = Buffer.from(part, 'base64url');
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        const changed = parts.with(i, bytes.toString('base64url')).join('.');
        expect(await unseal(changed, [KEY], LOG_ID), changed).toBeUndefined();
      }
  });

  it.each(['', '....', 'a.b.c', 'e30..e30.e30.e30', '{"a":1}'])('is not %j', async (text) => {
    expect(await unseal(text, [KEY], LOG_ID)).toBeUndefined();
  });

  it('is not made in another way, even under the same key', async () => {
    const made = async (
      header: CompactJWEHeaderParameters,
      key: Parameters<CompactEncrypt['encrypt']>[0],
      contents: unknown = SESSION,
    ) =>
      new CompactEncrypt(Buffer.from(JSON.stringify(contents)))
        .setProtectedHeader({ log: LOG_ID, ...header })
        .encrypt(key);
    const { publicKey } = await generateKeyPair('ECDH-ES');
    const others = await Promise.all([
      made({ alg: 'A256KW', enc: 'A256GCM' }, KEY),
      made({ alg: 'ECDH-ES', enc: 'A256GCM' }, publicKey),
      made({ alg: 'dir', enc: 'A128CBC-HS256' }, KEY),
      made({ alg: 'dir', enc: 'A256GCM' }, KEY, { ...SESSION, beganAt: 'yesterday' }),
      made({ alg: 'dir', enc: 'A256GCM' }, KEY, { ...SESSION, usedAt: undefined }),
    ]);
    for (const cookie of others) expect(await unseal(cookie, [KEY], LOG_ID)).toBeUndefined();
    expect(await unseal(await made({ alg: 'dir', enc: 'A256GCM' }, KEY), [KEY], LOG_ID)).toEqual(SESSION);
  });
});

const SITE: KeyActor = { keyId: 'k0011', user: 'site', accessRevision: 0 };

/** @param record what the log does with a fact */
function sessionsWith(record: (fact: OperationsFact) => Promise<void> = () => Promise.resolve()) {
  const recorded: OperationsFact[] = [];
  const failures: string[] = [];
  const ended = endedSessions.initial();
  const clock = { ms: NOW };
  const secret = { current: randomBytes(32) };
  const sessions = new Sessions({
    logId: LOG_ID,
    secret: () => secret,
    runner: { state: () => ended } as unknown as Runner,
    operations: {
      record: async (fact) => {
        await record(fact);
        recorded.push(fact);
      },
    },
    now: () => clock.ms,
    onFailure: ({ type }, { user }, { message }) => failures.push(`${type} of ${user}: ${message}`),
  });
  return { sessions, recorded, failures, ended, clock };
}

describe('a session against a log', () => {
  it('ends with its times, and for every instance once the log says so', async () => {
    const { sessions, ended, clock } = sessionsWith();
    const session = await sessions.begin(SITE);
    const cookie = await sessions.seal(session);
    clock.ms += 30 * MINUTE - 1;
    expect(await sessions.open(cookie)).toBeDefined();
    ended.set(session.sessionId, clock.ms);
    expect([await sessions.open(cookie), sessions.isOpen(session)]).toEqual([undefined, false]);
    ended.clear();
    clock.ms += 1;
    expect(await sessions.open(cookie)).toBeUndefined();
  });

  it('has ended here at once, while the end is being recorded', async () => {
    let write: () => void = () => undefined;
    const { sessions } = sessionsWith(({ type }) =>
      type === 'SessionBegan' ? Promise.resolve() : new Promise((resolve) => (write = resolve)),
    );
    const session = await sessions.begin(SITE);
    const ending = sessions.end(session, SITE);
    expect(await sessions.open(await sessions.seal(session))).toBeUndefined();
    write();
    expect(await ending).toBe(true);
  });
});

it('while the log takes no records, a session begins, and ends in this process, which is reported', async () => {
  const refusal = () => Promise.reject(new DomainError('moved', 'the log is elsewhere'));
  const { sessions, failures, clock } = sessionsWith(refusal);
  const session = await sessions.begin(SITE);
  expect(await sessions.open(await sessions.seal(session))).toEqual(session);
  expect(await sessions.end(session, SITE)).toBe(false);
  expect(failures).toEqual(
    ['SessionBegan', 'SessionEnded'].map((one) => `${one} of site: the log is elsewhere`),
  );
  for (const minutes of [0, 29]) {
    clock.ms += minutes * MINUTE;
    expect(await sessions.open(await sessions.seal({ ...session, usedAt: clock.ms }))).toBeUndefined();
  }
  // What is forgotten is over.
  clock.ms += 14 * 60 * MINUTE;
  await sessions.end(await sessions.begin(SITE), SITE);
  expect(sessions.isOpen({ ...session, usedAt: clock.ms })).toBe(false);
});

it('while the log does not answer, nobody waits for longer than three seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { sessions, failures } = sessionsWith(() => new Promise(() => undefined));
  const beginning = sessions.begin(SITE);
  await vi.advanceTimersByTimeAsync(3000);
  const ending = sessions.end(await beginning, SITE);
  await vi.advanceTimersByTimeAsync(3000);
  expect(await ending).toBe(false);
  expect(failures).toHaveLength(2);
});

it('a key signs in 600 times in an hour at most, so that nobody fills the disk', async () => {
  const { sessions, recorded } = sessionsWith();
  for (let i = 0; i < 600; i++) await sessions.begin(SITE);
  await expect(sessions.begin(SITE)).rejects.toThrow('has signed in 600 times within an hour');
  await sessions.begin({ ...SITE, keyId: 'k0022' });
  expect(recorded).toHaveLength(601);
});
