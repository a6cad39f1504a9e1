import { describe, expect, it } from 'vitest';
import { openingKeys, parseSessionKeys } from '../../../src/service/session/session-key.ts';

const ONE = Buffer.alloc(32, 1);
const TWO = Buffer.alloc(32, 2);
const text = (key: Uint8Array) => Buffer.from(key).toString('base64url');
const REPLACED = '2026-11-23T08:00:00.000Z';
const HOUR = 3_600_000;

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
    `${text(ONE)}\n${text(TWO)}\n`,
    `${text(ONE)}\n${text(TWO)} replaced yesterday\n`,
    `${text(ONE)}\n${text(TWO)} replaced ${REPLACED}\n${text(TWO)} replaced ${REPLACED}\n`,
    `${text(ONE)}=\n`,
    'PRIVATE+KEY+urn+12345678+abc\n',
  ])('is nothing else: %j', (other) => {
    expect(() => parseSessionKeys(other, 'data/session-key')).toThrow(
      'data/session-key holds no session key',
    );
  });

  it('says nothing about what it contains when it is not understood', () => {
    expect(() => parseSessionKeys(`${text(ONE)} `, 'f')).toThrow(/^(?!.*AQEB)/);
  });
});

describe('a cookie can be opened', () => {
  const at = Date.parse(REPLACED);
  const keys = { current: ONE, previous: { key: TWO, replacedAt: at } };

  it('with the key before the current one, for 12 hours', () => {
    expect(openingKeys(keys, at)).toEqual([ONE, TWO]);
    expect(openingKeys(keys, at + 12 * HOUR - 1)).toEqual([ONE, TWO]);
    expect(openingKeys(keys, at + 12 * HOUR)).toEqual([ONE]);
  });

  it('only with the current one, if there is no other', () => {
    expect(openingKeys({ current: ONE }, at)).toEqual([ONE]);
  });
});
