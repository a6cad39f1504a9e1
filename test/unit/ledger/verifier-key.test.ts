import { createPublicKey, hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { parseVerifierKey } from '../../../src/core/ledger/verifier-key.ts';
import { check } from '../../support/property.ts';
import { enoch, notes, peter, plusInKey, witnessKey } from '../../support/published-notes.ts';

const parse = (text: string) => parseVerifierKey(text, 'the trusted key');

/** A verifier key whose id fits, whatever is in it. */
function withKeyId(name: string, typed: Uint8Array): string {
  const keyId = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed])).slice(0, 8);
  return `${name}+${keyId}+${Buffer.from(typed).toString('base64')}`;
}

const RAW = Buffer.from(peter.key.split('+')[2] ?? '', 'base64').subarray(1);
const typed = (type: number, bytes: Uint8Array = RAW) => Buffer.concat([Buffer.of(type), bytes]);

describe('a verifier key', () => {
  it.each([peter.key, enoch.key, plusInKey.key, notes.example.key])('is read as published: %s', (text) => {
    const [name, keyId] = text.split('+');
    expect(parse(text)).toMatchObject({ name, keyId, text });
  });

  it('matches its signing key', () => {
    for (const name of ['urn', 'example.org/trial-7', 'Ärzte', '山田', '🜁']) {
      const { publicKey, privateKey, keyId } = makeSigningKey(name);
      const key = parse(publicKey);
      expect(key).toMatchObject({ name, keyId, text: publicKey });
      expect(key.publicKey.equals(createPublicKey(privateKey))).toBe(true);
    }
  });
});

describe('a verifier key is refused, and not quoted,', () => {
  it.each<[string, string]>([
    ['when it is empty', ''],
    ['when it is a signer key', peter.secret],
    ['when it is of a witness (type 0x04)', witnessKey.key],
    ['when it is of another type, with fitting id', withKeyId('a', typed(2))],
    ['when it is too short, with fitting id', withKeyId('a', typed(1, RAW.subarray(1)))],
    ['when it is too long, with fitting id', withKeyId('a', typed(1, Buffer.concat([RAW, Buffer.of(0)])))],
    ...peter.wrongKeys.map((key): [string, string] => [
      `when it is Go’s wrong one of id ${key.split('+')[1]}`,
      key,
    ]),
    ['when its name has a space', withKeyId('a b', typed(1))],
    ['when its name has another Unicode space', withKeyId('a\u2003b', typed(1))],
    ['when its name has U+0085, a space for Unicode', withKeyId('a\u0085b', typed(1))],
    ['when its name has a control character', withKeyId('a\u0001b', typed(1))],
    ['when its name has a plus', withKeyId('a+b', typed(1))],
    ['when it has no name', withKeyId('', typed(1))],
    ['when its id is in capitals', peter.key.replace('c74f20a3', 'C74F20A3')],
    ['when its id is of another key', peter.key.replace('c74f20a3', 'af0cfe78')],
    ['when its id is shorter', peter.key.replace('c74f20a3', 'c74f20a')],
    ['when its base64 is padded too much', `${peter.key}==`],
    ['when its base64 is that of URLs', plusInKey.key.replace('AQcC+F', 'AQcC-F')],
    ['when a line break follows', `${peter.key}\n`],
    ['when there are two', `${peter.key}\n${enoch.key}`],
  ])('%s', (_, text) => {
    let error: unknown;
    try {
      parse(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ name: 'DomainError', code: 'identity' });
    expect(String(error)).toContain('the trusted key');
    if (text !== '') expect(String(error)).not.toContain(text.slice(-20));
  });

  it('if any part is missing or any character was changed', () => {
    for (let i = 0; i <= peter.key.length; i++)
      for (let j = i + 1; j <= peter.key.length; j++)
        if (j - i < peter.key.length) expect(() => parse(peter.key.slice(i, j))).toThrow();
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

describe('no key is made with a name that a note cannot contain', () => {
  it.each(['', 'a b', 'a+b', 'a\nb', 'a\u0001b', 'a\u0085b', 'a\u00a0b', 'a\ud800b'])('%j', (name) => {
    expect(() => makeSigningKey(name)).toThrow('cannot name a key');
  });
});
