import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseNote } from '../../../src/core/ledger/note.ts';
import { checkNote, formatNote, signNote } from '../../../src/core/ledger/signed-note.ts';
import { makeSigningKey, parseSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { parseVerifierKey } from '../../../src/core/ledger/verifier-key.ts';
import { check } from '../../support/property.ts';
import { checkpoints, enoch, notes, peter } from '../../support/published-notes.ts';

const trust = (text: string) => parseVerifierKey(text, 'the trusted key');
const PETER = trust(peter.key);
const ENOCH = trust(enoch.key);
const NOTE = `${peter.text}\n${peter.signature}`;
const BOTH = NOTE + enoch.signature;

/** A text that a note can hold: any characters but control characters, in any number of lines. */
const texts = fc
  .array(fc.string({ unit: 'binary', maxLength: 20 }), { minLength: 1, maxLength: 5 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a note holds none
  .map((lines) => lines.map((line) => `${line.replace(/[\u0000-\u001f]/g, '')}\n`).join(''));

describe('published notes', () => {
  it('are signed as published', () => {
    expect(signNote(peter.text, parseSigningKey(peter.secret, 'the file'))).toBe(NOTE);
  });

  it('are recognized as signed by their keys', () => {
    expect(checkNote(NOTE, [PETER])).toEqual({ type: 'signed', text: peter.text, by: [PETER] });
    const key = trust(notes.example.key);
    expect(checkNote(notes.example.note, [PETER, key])).toEqual({
      type: 'signed',
      text: 'This is an example message.\n',
      by: [key],
    });
  });

  it('with two signers are reported as signed by the trusted ones', () => {
    expect(checkNote(BOTH, [PETER])).toMatchObject({ type: 'signed', by: [PETER] });
    expect(checkNote(BOTH, [ENOCH])).toMatchObject({ type: 'signed', by: [ENOCH] });
    expect(checkNote(BOTH, [ENOCH, PETER])).toMatchObject({ type: 'signed', by: [PETER, ENOCH] });
    expect(checkNote(BOTH, [])).toEqual({ type: 'not-signed' });
    expect(checkNote(NOTE, [ENOCH])).toEqual({ type: 'not-signed' });
  });

  it('are split into their visible parts', () => {
    expect(parseNote(notes.emptyLineInText.note)).toMatchObject({
      type: 'note',
      text: 'Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n',
      signatures: [{ name: 'quasimodo.example/salvatore', keyId: '367ba04b' }],
    });
  });

  it.each([
    BOTH,
    notes.example.note,
    notes.emptyLineInText.note,
    ...Object.values(checkpoints).map(({ note }) => note),
  ])('are written exactly as they were read', (note) => {
    const parsed = parseNote(note);
    if (parsed.type === 'malformed') throw new Error(parsed.why);
    expect(formatNote(parsed.text, parsed.signatures)).toBe(note);
    expect(parseNote(Buffer.from(note))).toEqual(parsed);
  });
});

describe('a signature', () => {
  it('that is wrong, by a trusted key, invalidates the note, even beside a valid one', () => {
    const wrong = peter.signature.replace('x08go/ZJ', 'x08go/ZK');
    const bad = { type: 'bad-signature', name: 'PeterNeumann', keyId: 'c74f20a3' };
    for (const lines of [wrong, wrong + peter.signature, peter.signature + wrong, enoch.signature + wrong])
      expect(checkNote(`${peter.text}\n${lines}`, [PETER, ENOCH])).toEqual(bad);
    expect(checkNote(`${peter.text}\n${wrong}${enoch.signature}`, [ENOCH])).toMatchObject({ by: [ENOCH] });
  });

  it('with a length other than Ed25519’s is invalid', () => {
    const start = Buffer.from('c74f20a3', 'hex');
    for (const length of [1, 63, 65, 3000]) {
      const line = `— PeterNeumann ${Buffer.concat([start, Buffer.alloc(length)]).toString('base64')}\n`;
      expect(checkNote(`${peter.text}\n${line}`, [PETER])).toMatchObject({ type: 'bad-signature' });
    }
  });

  it('that matches only the name or only the id of a trusted key belongs to somebody else', () => {
    const otherId = peter.signature.replace('x08go/ZJ', 'y08go/ZJ');
    const otherName = peter.signature.replace('PeterNeumann', 'PeterNeuman');
    for (const other of [otherId, otherName]) {
      expect(checkNote(`${peter.text}\n${other}`, [PETER])).toEqual({ type: 'not-signed' });
      expect(checkNote(`${NOTE}${other}`, [PETER])).toMatchObject({ by: [PETER] });
    }
  });

  it('may occur twice, and a key may be trusted twice', () => {
    expect(checkNote(NOTE + peter.signature, [PETER])).toMatchObject({ by: [PETER] });
    expect(checkNote(NOTE, [PETER, trust(peter.key)])).toMatchObject({ by: [PETER] });
  });

  it('is valid even if another trusted key has the same name and id', () => {
    const collides = { ...ENOCH, name: PETER.name, keyId: PETER.keyId };
    for (const trusted of [
      [collides, PETER],
      [PETER, collides],
    ])
      expect(checkNote(NOTE, trusted)).toMatchObject({ by: [PETER] });
    expect(checkNote(NOTE, [collides])).toMatchObject({ type: 'bad-signature' });
  });

  it('can be one of up to 100', () => {
    expect(checkNote(`${peter.text}\n${peter.signature.repeat(100)}`, [PETER])).toMatchObject({
      by: [PETER],
    });
    expect(checkNote(`${peter.text}\n${peter.signature.repeat(101)}`, [PETER])).toMatchObject({
      type: 'malformed',
      why: 'it has more than 100 signatures',
    });
  });
});

describe('a note is malformed', () => {
  const sign = peter.signature;
  it.each<[string, string | Uint8Array, string]>([
    ['when it is empty', '', 'no empty line'],
    ['without signatures', peter.text, 'no empty line'],
    ['without signatures after the empty line', `${peter.text}\n`, 'no signature'],
    ['when its last line break is missing', NOTE.slice(0, -1), 'does not end with a line break'],
    ['with an empty line after its signatures', `${NOTE}\n`, 'no signature'],
    ['with carriage returns', NOTE.replaceAll('\n', '\r\n'), 'control character'],
    ['with a control character', `\u0001${NOTE}`, 'control character'],
    ['with a tab', `\t${NOTE}`, 'control character'],
    ['when it is not UTF-8', Buffer.concat([Buffer.of(0xff), Buffer.from(NOTE)]), 'not UTF-8'],
    ['with a line that is no signature', `${NOTE}Unexpected line.\n`, 'line 2'],
    ['with a hyphen for the dash', NOTE.replace('—', '-'), 'line 1'],
    ['with two spaces', NOTE.replace('— ', '—  '), 'line 1'],
    ['with a space at a line’s end', `${NOTE.slice(0, -1)} \n`, 'line 1'],
    ['with a space in a name', NOTE.replace('— Peter', '— Peter '), 'line 1'],
    ['with a Unicode space in a name', NOTE.replace('— Peter', '— Peter\u2003'), 'line 1'],
    ['with a plus in a name', NOTE.replace('— Peter', '— Peter+'), 'line 1'],
    ['without a name', NOTE.replace('PeterNeumann', ''), 'line 1'],
    ['without padding', NOTE.replace('AM=\n', 'AM\n'), 'line 1'],
    ['with base64 that is not canonical', NOTE.replace('AM=\n', 'AN=\n'), 'line 1'],
    ['with the base64 of URLs', NOTE.replace('x08go/ZJ', 'x08go_ZJ'), 'line 1'],
    ['with a key id and no signature', `${peter.text}\n— PeterNeumann x08gow==\n`, 'line 1'],
    ['with less than a key id', `${peter.text}\n— PeterNeumann x08g\n`, 'line 1'],
    ['when another key’s line is', `${NOTE}— somebody x08gow\n`, 'line 2'],
    ['when it is very long', `${'x'.repeat(1_000_000)}\n\n${sign}`, 'longer than 1000000 bytes'],
  ])('%s', (_, note, why) => {
    const checked = checkNote(note, [PETER]);
    expect(checked).toMatchObject({ type: 'malformed' });
    expect(checked).toHaveProperty('why', expect.stringContaining(why));
    expect(parseNote(note)).toEqual(checked);
  });
});

describe('a signed text', () => {
  const key = makeSigningKey('example.org/trial-7');
  const trusted = [trust(key.publicKey)];

  it('is read back from its note, signed, if a note can hold it', () => {
    check(
      fc.property(texts, (text) => {
        const checked = checkNote(signNote(text, key), trusted);
        expect(checked).toEqual({ type: 'signed', text, by: trusted });
      }),
    );
  });

  it('is refused if a note cannot hold it', () => {
    for (const text of [
      '',
      'no line break',
      'a\n\nb',
      'tab\t\n',
      'a\r\n',
      '\u0000\n',
      'half \ud800\n',
      NOTE.trim(),
    ])
      expect(() => signNote(text, key)).toThrow(RangeError);
  });

  it('is no longer signed if a byte of the note was changed', () => {
    check(
      fc.property(texts, fc.nat(), fc.integer({ min: 1, max: 255 }), (text, where, difference) => {
        const note = Buffer.from(signNote(text, key));
        const at = where % note.length;
        note[at] = (note[at] ?? 0) ^ difference;
        expect(checkNote(note, trusted).type).not.toBe('signed');
      }),
      { numRuns: 500 },
    );
  });

  it('is no longer signed if a byte is missing or was added', () => {
    const note = Buffer.from(NOTE);
    for (let at = 0; at < note.length; at++)
      for (const instead of [[], [note[at] ?? 0, 0x20], [0x0a, note[at] ?? 0]]) {
        const changed = Buffer.concat([note.subarray(0, at), Buffer.from(instead), note.subarray(at + 1)]);
        expect(checkNote(changed, [PETER]).type).not.toBe('signed');
      }
  });

  it('can be checked without throwing, whatever its bytes are', () => {
    const lines = fc.constantFrom(
      '\n',
      '— ',
      'PeterNeumann ',
      peter.signature,
      enoch.signature,
      peter.text,
      'x',
    );
    check(
      fc.property(
        fc.array(fc.oneof(lines, fc.string({ unit: 'binary' }))),
        fc.uint8Array(),
        (parts, bytes) => {
          for (const note of [parts.join(''), bytes])
            expect(checkNote(note, [PETER, ENOCH])).toHaveProperty('type');
        },
      ),
      { numRuns: 500 },
    );
  });
});
