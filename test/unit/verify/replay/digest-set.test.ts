import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DigestSet } from '../../../../src/verify/replay/digest-set.ts';

describe('a set of digests', () => {
  it.each([
    ['texts', 'text', (i: number) => `participant ${i}`],
    ['short texts', 'text', (i: number) => `${i}`],
    ['texts in many letters', 'text', (i: number) => `Größe ${i} 尺寸`],
    ['UUIDs', 'uuid', () => randomUUID()],
  ] as const)('contains the %s that were added, and no others, however many there are', (_, of, make) => {
    const set = new DigestSet(of);
    const all = Array.from({ length: 20_000 }, (_, i) => make(i));
    const [added, others] = [all.slice(0, 10_000), all.slice(10_000)];
    const wrong = added.filter((text) => {
      const wasThere = set.has(text);
      set.add(text);
      set.add(text);
      return wasThere || !set.has(text);
    });
    expect(wrong).toEqual([]);
    expect(added.every((text) => set.has(text))).toBe(true);
    expect(others.some((text) => set.has(text))).toBe(false);
  });

  it('distinguishes UUIDs that differ in one digit, wherever it is', () => {
    const set = new DigestSet('uuid');
    const one = '019c7f44-d7f8-719a-9b31-f09043b87245';
    set.add(one);
    for (const [i, digit] of [...one].entries()) {
      if (digit === '-') continue;
      expect(set.has(`${one.slice(0, i)}${digit === '0' ? '1' : '0'}${one.slice(i + 1)}`)).toBe(false);
    }
    expect(set.has(one)).toBe(true);
  });

  it('distinguishes short texts by their length, and letters that share a byte', () => {
    const set = new DigestSet();
    const longer = [
      'aaaabbbbcccc',
      'aaaabbbbccccd',
      'aaaabbbbccccddd',
      'aaaabbbbccccdde',
      'aaaabbbbccccdddd',
    ];
    const texts = ['a', '\0a', 'a\0', '\0', '\u0001', '\0\0', 'ÿ', 'ſ', '', ...longer];
    for (const text of texts) {
      expect(set.has(text)).toBe(false);
      set.add(text);
    }
    expect(texts.every((text) => set.has(text))).toBe(true);
  });

  it('stores a UUID that begins with zeros', () => {
    const set = new DigestSet('uuid');
    set.add('00000000-0000-7000-8000-000000000000');
    expect(set.has('00000000-0000-7000-8000-000000000000')).toBe(true);
    expect(set.has('00000000-0000-7000-8000-000000000001')).toBe(false);
  });
});
