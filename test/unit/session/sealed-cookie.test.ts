import { randomBytes } from 'node:crypto';
import { CompactEncrypt, type CompactJWEHeaderParameters, generateKeyPair } from 'jose';
import { describe, expect, it } from 'vitest';
import { seal, unseal } from '../../../src/service/session/sealed-cookie.ts';
import { newSession } from '../../../src/service/session/session.ts';
import { LOG_ID } from '../../support/fixed-tools.ts';

const KEY = randomBytes(32);
const SESSION = newSession('k0011', Date.parse('2026-11-23T12:00:00.000Z'));

describe('a sealed cookie', () => {
  it('holds the session, which nobody can read without the key', async () => {
    const cookie = await seal(SESSION, KEY, LOG_ID);
    expect(await unseal(cookie, [KEY], LOG_ID)).toEqual(SESSION);
    expect(cookie).toMatch(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);
    const readable = cookie.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
    for (const secret of [SESSION.sessionId, SESSION.keyId]) expect(readable.join(' ')).not.toContain(secret);
  });

  it('says who signed in, however long their name is', async () => {
    const longest = { ...SESSION, onBehalfOf: '😀'.repeat(128) };
    const cookie = await seal(longest, KEY, LOG_ID);
    expect(await unseal(cookie, [KEY], LOG_ID)).toEqual(longest);
    // Browsers keep cookies up to 4096 characters, with their attributes.
    expect(cookie.length).toBeLessThan(2048);
  });

  it('stays valid if a version that named nobody sealed it', async () => {
    const { sessionId, keyId, beganAt, usedAt } = SESSION;
    const before = JSON.stringify({ sessionId, keyId, beganAt, usedAt });
    const cookie = await new CompactEncrypt(Buffer.from(before))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', log: LOG_ID })
      .encrypt(KEY);
    expect(await unseal(cookie, [KEY], LOG_ID)).toEqual({ sessionId, keyId, beganAt, usedAt });
  });

  it('differs each time', async () => {
    expect(await seal(SESSION, KEY, LOG_ID)).not.toBe(await seal(SESSION, KEY, LOG_ID));
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

  it.each(['', '.', '....', 'a.b.c', 'e30..e30.e30.e30', 'x'.repeat(10_000), '{"a":1}', '\u0000'])(
    'is not %j',
    async (text) => {
      expect(await unseal(text, [KEY], LOG_ID)).toBeUndefined();
    },
  );

  it('is not made in another way, even under the same key', async () => {
    const made = async (
      header: CompactJWEHeaderParameters,
      key: Parameters<CompactEncrypt['encrypt']>[0],
      contents: unknown = SESSION,
    ) =>
      new CompactEncrypt(Buffer.from(JSON.stringify(contents)))
        .setProtectedHeader({ log: LOG_ID, ...header })
        .encrypt(key);
    const { publicKey } = await generateKeyPair('RSA-OAEP-256');
    const others = await Promise.all([
      made({ alg: 'A256KW', enc: 'A256GCM' }, KEY),
      made({ alg: 'RSA-OAEP-256', enc: 'A256GCM' }, publicKey),
      made({ alg: 'dir', enc: 'A128CBC-HS256' }, KEY),
      made({ alg: 'dir', enc: 'A256GCM' }, KEY, { ...SESSION, beganAt: 'yesterday' }),
      made({ alg: 'dir', enc: 'A256GCM' }, KEY, { ...SESSION, usedAt: undefined }),
    ]);
    for (const cookie of others) expect(await unseal(cookie, [KEY], LOG_ID)).toBeUndefined();
    expect(await unseal(await made({ alg: 'dir', enc: 'A256GCM' }, KEY), [KEY], LOG_ID)).toEqual(SESSION);
  });
});
