import { createHash, createPublicKey, sign, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeSigningKey, parseSigningKey } from '../../../src/core/ledger/signing-key.ts';

/** The key pair in the examples of Go's package golang.org/x/mod/sumdb/note, whose format C2SP signed-note is. */
const SECRET = 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz';
const PUBLIC = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
/** What that package's example says and signs. */
const NOTE =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const SIGNATURE =
  'x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=';

describe('a signing key', () => {
  it('is read in the format of signed-note, and has the matching verifier key', () => {
    expect(parseSigningKey(SECRET, 'the file')).toMatchObject({
      name: 'PeterNeumann',
      publicKey: PUBLIC,
      secret: SECRET,
    });
  });

  it('makes the same signature as the signed-note example', () => {
    const { privateKey } = parseSigningKey(SECRET, 'the file');
    // The first four bytes are the key id.
    expect(Buffer.from(SIGNATURE, 'base64').subarray(0, 4).toString('hex')).toBe('c74f20a3');
    expect(sign(null, Buffer.from(NOTE), privateKey)).toEqual(Buffer.from(SIGNATURE, 'base64').subarray(4));
  });

  it('has a key id that is the first four bytes of SHA-256(name ‖ 0x0A ‖ 0x01 ‖ public key)', () => {
    const { name, publicKey } = makeSigningKey('jcoin-log');
    const [, keyId = '', base64 = ''] = /^jcoin-log\+([0-9a-f]{8})\+(.+)$/.exec(publicKey) ?? [];
    const typed = Buffer.from(base64, 'base64');
    expect(typed).toHaveLength(33);
    expect(typed[0]).toBe(1);
    expect(createHash('sha256').update(name).update('\n').update(typed).digest('hex')).toMatch(
      new RegExp(`^${keyId}`),
    );
  });

  it('is read back from its text, with or without a line break at the end', () => {
    const key = makeSigningKey('urn');
    for (const text of [key.secret, `${key.secret}\n`]) {
      const read = parseSigningKey(text, 'the file');
      expect(read).toMatchObject({ name: 'urn', publicKey: key.publicKey, secret: key.secret });
      const signature = sign(null, Buffer.from('x'), read.privateKey);
      expect(verify(null, Buffer.from('x'), createPublicKey(key.privateKey), signature)).toBe(true);
    }
  });

  it('is different each time one is made', () => {
    expect(makeSigningKey('urn').secret).not.toBe(makeSigningKey('urn').secret);
  });

  it('may have any name without white space or plus signs', () => {
    for (const name of ['urn', 'example.org/trial-7', 'Ärzte', '山田'])
      expect(parseSigningKey(makeSigningKey(name).secret, 'the file').name).toBe(name);
  });
});

describe('a signing key is refused, and not quoted,', () => {
  const [base64 = ''] = SECRET.split('+').slice(4);

  it.each([
    ['when it is empty', ''],
    ['when it is a verifier key', PUBLIC],
    ['when it is something else', '-----BEGIN PRIVATE KEY-----\n'],
    ['when it is cut off', SECRET.slice(0, -4)],
    ['when it is longer', `${SECRET}AAAA`],
    [
      'when it is of another algorithm',
      `PRIVATE+KEY+PeterNeumann+c74f20a3+${Buffer.alloc(33, 2).toString('base64')}`,
    ],
    ['when its base64 is not the shortest', SECRET.replace(/Fz$/, 'Fz==')],
    ['when there are two', `${SECRET}\n${SECRET}`],
    ['when something precedes it', ` ${SECRET}`],
  ])('%s', (_, text) => {
    expectRefusal(text);
  });

  it('when any letter was replaced', () => {
    for (let i = 0; i < SECRET.length; i++)
      expectRefusal(SECRET.slice(0, i) + (SECRET[i] === 'A' ? 'B' : 'A') + SECRET.slice(i + 1));
  });

  function expectRefusal(text: string): void {
    const error = refusal(text);
    expect(error).toMatchObject({ name: 'DomainError', code: 'identity' });
    expect(error.message).toContain('the file');
    expect(error.message).toContain('hint: restore it from a backup');
    expect(error.message).not.toContain(base64.slice(8, 20));
  }

  function refusal(text: string): Error {
    try {
      parseSigningKey(text, 'the file');
    } catch (error) {
      return error as Error;
    }
    throw new Error('the key was taken');
  }
});
