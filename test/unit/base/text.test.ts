import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lookAlikeForm, lookAlikeProblem, namesIn, onOneLine, printable } from '../../../src/base/text.ts';
import { counted, plural } from '../../../src/base/wording.ts';

describe('the check for characters that look like others or are invisible', () => {
  it.each([
    ['001\u200b', 'U+200B, which nobody sees'],
    ['001\u{e0031}', 'U+E0031, which nobody sees'],
    ['0\u00a01', 'U+00A0, a space other than the common one'],
    ['\ue000', 'U+E000, which has no meaning that all agree on'],
    ['\u0378', 'U+0378, which has no meaning'],
    ['M\ufffdller', 'U+FFFD, which stands for text that was lost'],
    ['Mu\u0308ller', 'U+0308, which Unicode also writes in another way'],
    ['q\u0307\u0323', 'U+0307, which Unicode also writes in another way'],
  ])('names the code point in %j', (text, problem) => {
    expect(lookAlikeProblem(text)).toContain(`contains ${problem}`);
  });

  it.each(['', 'a b', 'Größe – 尺寸 😀', '≥ 2 (a+b)', 'नमस्ते', '하', 'q\u0323\u0307'])(
    'accepts %j',
    (text) => {
      expect(lookAlikeProblem(text)).toBeUndefined();
    },
  );
});

describe('the comparison form of a text', () => {
  it.each([
    ['001', ['001\u200b', '\u202e001\u202c', '００１', '0\u2800\ue00001', '0\ufffd01']],
    ['a b', ['a\u00a0b']],
    ['é', ['e\u0301', 'e\u200d\u0301']],
  ])('is the same for %j and its look-alikes %j', (one, others) => {
    for (const other of others) expect(lookAlikeForm(other), other).toBe(lookAlikeForm(one));
  });

  it.each([
    ['001', '0010'],
    ['001', '00 1'],
    ['a', 'A'],
    ['e', 'é'],
  ])('differs for %j and %j', (one, other) => {
    expect(lookAlikeForm(other)).not.toBe(lookAlikeForm(one));
  });

  it('does not change when it is formed again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const form = lookAlikeForm(text);
        expect(lookAlikeForm(form)).toBe(form);
      }),
    );
  });
});

describe('text for a terminal', () => {
  it('shows characters that a terminal would obey or hide', () => {
    expect(printable('a\u001b[2Jb\u009b\u007f\r\t\n001\u200b\u202e')).toBe(
      'a\\u001b[2Jb\\u009b\\u007f\\u000d\\u0009\n001\\u200b\\u202e',
    );
    expect(printable('a\u{e0031}b\u2028')).toBe('a\\udb40\\udc31b\\u2028');
    expect(onOneLine('left\n\u001b[2Jthe trial\u200b')).toBe('left  [2Jthe trial\\u200b');
  });

  it('leaves ordinary text unchanged', () => {
    const text = 'Größe – 尺寸 😀 “é”\nsecond line';
    expect(printable(text)).toBe(text);
  });

  it('is printable, and its escapes leave JSON equivalent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(/(?!\n)\p{Cc}|[\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/u);
        expect(JSON.parse(printable(JSON.stringify({ text })))).toEqual({ text });
      }),
    );
  });
});

describe('names in a list', () => {
  it.each([
    ['sex', ['sex']],
    ['sex, site', ['sex', 'site']],
    ['"C, high",A', ['C, high', 'A']],
    ['"a ""b""", c d ', ['a "b"', 'c d']],
    ['" spaced "', [' spaced ']],
  ])('%j are read', (text, names) => {
    expect(namesIn(text)).toEqual(names);
  });

  it.each(['', ',', 'a,', 'a,,b', '"a', 'a"b', '"a"b', '""'])('%j is not a list', (text) => {
    expect(namesIn(text)).toBeUndefined();
  });
});

it('a number has its noun in the right number, also an irregular one', () => {
  const all = [0, 1, 2].map((count) => counted(count, 'participant'));
  expect(all).toEqual(['0 participants', '1 participant', '2 participants']);
  expect([counted(1, 'study', 'studies'), counted(3, 'study', 'studies')]).toEqual(['1 study', '3 studies']);
  expect([plural(1, 'was', 'were'), plural(0, 'was', 'were')]).toEqual(['was', 'were']);
});
