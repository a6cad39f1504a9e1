/** The keys that sign checkpoints and verify them, in the format of Go's package golang.org/x/mod/sumdb/note. */
import { createPublicKey, hash, sign, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeSigningKey, parseSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { parseVerifierKey } from '../../../src/core/ledger/verifier-key.ts';
import { check } from '../../support/property.ts';
import { enoch, notes, peter, plusInKey, witnessKey } from '../../support/published-notes.ts';

const parse = (text: string) => parseVerifierKey(text, 'the trusted key');
const parseSecret = (text: string) => parseSigningKey(text, 'the file');

/** A verifier key whose id fits, whatever is in it. */
function withKeyId(name: string, typed: Uint8Array): string {
  const keyId = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed])).slice(0, 8);
  return `${name}+${keyId}+${Buffer.from(typed).toString('base64')}`;
}
const RAW = Buffer.from(peter.key.split('+')[2] ?? '', 'base64').subarray(1);
const typed = (type: number, bytes: Uint8Array = RAW) => Buffer.concat([Buffer.of(type), bytes]);

describe('a signing key', () => {
  it('is read as published, has the published verifier key, and signs as published', () => {
    const key = parseSecret(peter.secret);
    expect(key).toMatchObject({ name: 'PeterNeumann', publicKey: peter.key, secret: peter.secret });
    const [, encoded = ''] = /^— PeterNeumann (.+)\n$/.exec(peter.signature) ?? [];
    // The first four bytes are the key id.
    const signature = Buffer.from(encoded, 'base64').subarray(4);
    expect(sign(null, Buffer.from(peter.text), key.privateKey)).toEqual(signature);
  });

  it.each(['urn', 'example.org/trial-7', 'Ärzte', '山田', '🜁'])(
    'named %s is read back from its text, has an id made of its parts, and matches its verifier key',
    (name) => {
      const key = makeSigningKey(name);
      for (const text of [key.secret, `${key.secret}\n`])
        expect(parseSecret(text)).toMatchObject({ name, publicKey: key.publicKey, secret: key.secret });
      const signature = sign(null, Buffer.from('x'), parseSecret(key.secret).privateKey);
      expect(verify(null, Buffer.from('x'), createPublicKey(key.privateKey), signature)).toBe(true);
      const { x = '' } = createPublicKey(key.privateKey).export({ format: 'jwk' });
      expect(key.publicKey).toBe(withKeyId(name, typed(1, Buffer.from(x, 'base64url'))));
      const read = parse(key.publicKey);
      expect(read).toMatchObject({ name, keyId: key.keyId, text: key.publicKey });
      expect(read.publicKey.equals(createPublicKey(key.privateKey))).toBe(true);
      expect(makeSigningKey(name).secret).not.toBe(key.secret);
    },
  );

  it.each(['', 'a b', 'a+b', 'a\u0001b', 'a\u0085b', 'a\u00a0b', 'a\ud800b'])('is not named %j', (name) => {
    expect(() => makeSigningKey(name)).toThrow('cannot name a key');
  });
});

it.each([peter.key, enoch.key, plusInKey.key, notes.example.key])(
  'a verifier key is read as published: %s',
  (text) => {
    const [name, keyId] = text.split('+');
    expect(parse(text)).toMatchObject({ name, keyId, text });
  },
);

/** Refused, and not quoted. */
function expectRefusal(parsing: () => unknown, says: RegExp, text: string): void {
  expect(parsing).toThrow(expect.objectContaining({ name: 'DomainError', code: 'identity' }));
  expect(parsing).toThrow(says);
  if (text !== '') expect(parsing).not.toThrow(text.slice(-20));
}

describe('a signing key is refused, and not quoted,', () => {
  const { secret } = peter;
  it.each([
    ['when it is empty', ''],
    ['when it is a verifier key', peter.key],
    ['when it is cut off', secret.slice(0, -4)],
    ['when it is of another algorithm', secret.replace(/[^+]+$/, Buffer.alloc(33, 2).toString('base64'))],
    ['when there are two', `${secret}\n${secret}`],
    ['when something precedes it', ` ${secret}`],
  ])('%s', (_, text) => {
    expectRefusal(() => parseSecret(text), /^the file .*hint: restore it from a backup/, text);
  });

  it('when any letter was replaced', () => {
    for (let i = 0; i < secret.length; i++) {
      const text = secret.slice(0, i) + (secret[i] === 'A' ? 'B' : 'A') + secret.slice(i + 1);
      expectRefusal(() => parseSecret(text), /^the file .*hint: restore it from a backup/, text);
    }
  });
});

describe('a verifier key is refused, and not quoted,', () => {
  it.each<[string, string]>([
    ['when it is a signer key', peter.secret],
    ['when it is of a witness (type 0x04)', witnessKey.key],
    ['when it is of another type, with fitting id', withKeyId('a', typed(2))],
    ['when it is too short, with fitting id', withKeyId('a', typed(1, RAW.subarray(1)))],
    ['when it is too long, with fitting id', withKeyId('a', typed(1, Buffer.concat([RAW, Buffer.of(0)])))],
    ...peter.wrongKeys.map((key): [string, string] => [`when it is Go’s wrong one: ${key}`, key]),
    ['when its name has a space', withKeyId('a b', typed(1))],
    ['when its id is in capitals', peter.key.replace('c74f20a3', 'C74F20A3')],
    ['when its id is of another key', peter.key.replace('c74f20a3', 'af0cfe78')],
    ['when its base64 is padded too much', `${peter.key}==`],
    ['when a line break follows', `${peter.key}\n`],
  ])('%s', (_, text) => {
    expectRefusal(() => parse(text), /^the trusted key /, text);
  });

  it('if any part is missing or any character was changed', () => {
    const { length } = peter.key;
    const parts = Array.from({ length: length ** 2 }, (_, n) =>
      peter.key.slice(Math.floor(n / length), 1 + (n % length)),
    );
    const isTaken = (text: string) => {
      try {
        return parse(text) !== undefined;
      } catch {
        return false;
      }
    };
    expect(parts.filter(isTaken)).toEqual([peter.key]);
    const indexes = fc.nat({ max: peter.key.length - 1 });
    check(
      fc.property(indexes, fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }), (i, other) => {
        fc.pre(peter.key[i] !== other);
        expect(() => parse(peter.key.slice(0, i) + other + peter.key.slice(i + 1))).toThrow();
      }),
      { numRuns: 500 },
    );
  });
});
