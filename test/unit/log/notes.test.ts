/**
 * The keys that sign checkpoints and verify them, in the format of Go's package golang.org/x/mod/sumdb/note, signed notes, the
 * checkpoints that they hold, and the files in which people keep them.
 */
import { createPublicKey, hash, sign, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import {
  CheckpointFileError,
  CheckpointReader,
  parseCheckpoint,
  parseCheckpointFile,
  parseNote,
} from '../../../src/core/log/formats.ts';
import { verifyInclusion } from '../../../src/core/log/merkle-tree.ts';
import {
  checkNote,
  checkpointOrigin,
  formatCheckpoint,
  formatNote,
  makeSigningKey,
  openCheckpoint,
  parseSigningKey,
  parseVerifierKey,
  signCheckpoint,
  signNote,
} from '../../../src/core/log/signing.ts';
import { check } from '../../support/property.ts';
import { thrownBy } from '../../support/thrown.ts';
import signed from '../../vectors/signed-notes.json' with { type: 'json' };
import sumdb from '../../vectors/sumdb-proof.json' with { type: 'json' };

/** The vectors say where each comes from. */
const { checkpoints, enoch, notes, peter, plusInKey, witnessKey } = signed;

const trust = (text: string) => parseVerifierKey(text, 'the trusted key');
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
      const read = trust(key.publicKey);
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
    expect(trust(text)).toMatchObject({ name, keyId, text });
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
    expectRefusal(() => trust(text), /^the trusted key /, text);
  });

  it('if any part is missing or any character was changed', () => {
    const { length } = peter.key;
    const parts = Array.from({ length: length ** 2 }, (_, n) =>
      peter.key.slice(Math.floor(n / length), 1 + (n % length)),
    );
    expect(parts.filter((text) => !thrownBy(() => trust(text)))).toEqual([peter.key]);
    const indexes = fc.nat({ max: peter.key.length - 1 });
    check(
      fc.property(indexes, fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }), (i, other) => {
        fc.pre(peter.key[i] !== other);
        expect(() => trust(peter.key.slice(0, i) + other + peter.key.slice(i + 1))).toThrow();
      }),
      { numRuns: 500 },
    );
  });
});

const PETER = trust(peter.key);
const ENOCH = trust(enoch.key);
const SUMDB = trust(sumdb.key);
const NOTE = `${peter.text}\n${peter.signature}`;
const BOTH = NOTE + enoch.signature;
const ROOT64 = checkpoints.example.root;
const ROOT = Buffer.from(ROOT64, 'base64');
const KEY = makeSigningKey('trial-7');
const trusted = [trust(KEY.publicKey)];
const ORIGIN = checkpointOrigin('trial-7', 'access');
const roots = fc.uint8Array({ minLength: 32, maxLength: 32 });

/** A text that a note can hold: any characters but control characters, in any number of lines. */
const texts = fc
  .array(fc.string({ unit: 'binary', maxLength: 20 }), { minLength: 1, maxLength: 5 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a note holds none
  .map((lines) => lines.map((line) => `${line.replace(/[\u0000-\u001f]/g, '')}\n`).join(''));

describe('published notes', () => {
  it('are signed as published, and recognized as signed by the trusted ones of their keys', () => {
    expect(signNote(peter.text, parseSigningKey(peter.secret, 'the file'))).toBe(NOTE);
    expect(checkNote(NOTE, [PETER])).toEqual({ type: 'signed', text: peter.text, by: [PETER] });
    const key = trust(notes.example.key);
    expect(checkNote(notes.example.note, [PETER, key])).toMatchObject({ type: 'signed', by: [key] });
    expect(checkNote(BOTH, [ENOCH])).toMatchObject({ type: 'signed', by: [ENOCH] });
    expect(checkNote(BOTH, [ENOCH, PETER])).toMatchObject({ type: 'signed', by: [PETER, ENOCH] });
    expect(checkNote(BOTH, [])).toEqual({ type: 'not-signed' });
    expect(checkNote(NOTE, [ENOCH])).toEqual({ type: 'not-signed' });
  });

  it.each([
    ...[BOTH, notes.example.note, notes.emptyLineInText.note],
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
    const short = `— PeterNeumann ${Buffer.from('c74f20a3ff', 'hex').toString('base64')}\n`;
    const bad = { type: 'bad-signature', name: 'PeterNeumann', keyId: 'c74f20a3' };
    for (const lines of [
      wrong,
      short,
      wrong + peter.signature,
      peter.signature + wrong,
      enoch.signature + wrong,
    ])
      expect(checkNote(`${peter.text}\n${lines}`, [PETER, ENOCH])).toEqual(bad);
    expect(checkNote(`${peter.text}\n${wrong}${enoch.signature}`, [ENOCH])).toMatchObject({ by: [ENOCH] });
  });

  it('that matches only the name or only the id of a trusted key belongs to somebody else', () => {
    const otherId = peter.signature.replace('x08go/ZJ', 'y08go/ZJ');
    const otherName = peter.signature.replace('PeterNeumann', 'PeterNeuman');
    for (const other of [otherId, otherName]) {
      expect(checkNote(`${peter.text}\n${other}`, [PETER])).toEqual({ type: 'not-signed' });
      expect(checkNote(`${NOTE}${other}`, [PETER])).toMatchObject({ by: [PETER] });
    }
  });

  it('may occur twice, and is valid even if another trusted key has the same name and id', () => {
    expect(checkNote(NOTE + peter.signature, [PETER])).toMatchObject({ by: [PETER] });
    const collides = { ...ENOCH, name: PETER.name, keyId: PETER.keyId };
    expect(checkNote(NOTE, [collides, PETER])).toMatchObject({ by: [PETER] });
    expect(checkNote(NOTE, [PETER, collides])).toMatchObject({ by: [PETER] });
    expect(checkNote(NOTE, [collides])).toMatchObject({ type: 'bad-signature' });
  });

  it('can be one of up to 100', () => {
    const signed = (times: number) => checkNote(`${peter.text}\n${peter.signature.repeat(times)}`, [PETER]);
    expect(signed(100)).toMatchObject({ by: [PETER] });
    expect(signed(101)).toMatchObject({ type: 'malformed', why: 'it has more than 100 signatures' });
  });
});

it.each<[string, string | Uint8Array, string]>([
  ['without signatures', peter.text, 'no empty line'],
  ['without signatures after the empty line', `${peter.text}\n`, 'no signature'],
  ['when its last line break is missing', NOTE.slice(0, -1), 'does not end with a line break'],
  ['with a control character', `\u0001${NOTE}`, 'control character'],
  ['when it is not UTF-8', Buffer.concat([Buffer.of(0xff), Buffer.from(NOTE)]), 'not UTF-8'],
  ['with a line that is no signature', `${NOTE}Unexpected line.\n`, 'line 2'],
  ['with a hyphen for the dash', NOTE.replace('—', '-'), 'line 1'],
  ['with two spaces', NOTE.replace('— ', '—  '), 'line 1'],
  ['with a space at a line’s end', `${NOTE.slice(0, -1)} \n`, 'line 1'],
  ['with a plus in a name', NOTE.replace('— Peter', '— Peter+'), 'line 1'],
  ['with base64 that is not canonical', NOTE.replace('AM=\n', 'AN=\n'), 'line 1'],
  ['with a key id and no signature', `${peter.text}\n— PeterNeumann x08gow==\n`, 'line 1'],
  ['when it is very long', `${'x'.repeat(1_000_000)}\n\n${peter.signature}`, 'longer than 1000000 bytes'],
])('a note is malformed %s', (_, note, why) => {
  const checked = checkNote(note, [PETER]);
  expect(checked).toMatchObject({ type: 'malformed', why: expect.stringContaining(why) });
  expect(parseNote(note)).toEqual(checked);
});

describe('a signed text', () => {
  it('is read back from its note, signed, if a note can hold it', () => {
    check(
      fc.property(texts, (text) => {
        expect(checkNote(signNote(text, KEY), trusted)).toEqual({ type: 'signed', text, by: trusted });
      }),
    );
  });

  it.each(['', 'no line break', 'a\n\nb', 'tab\t\n', 'a\r\n', 'half \ud800\n', NOTE.trim()])(
    'is refused if a note cannot hold it: %j',
    (text) => {
      expect(() => signNote(text, KEY)).toThrow(RangeError);
    },
  );

  it('is no longer signed if a byte of the note was changed', () => {
    check(
      fc.property(texts, fc.nat(), fc.integer({ min: 1, max: 255 }), (text, where, difference) => {
        const note = Buffer.from(signNote(text, KEY));
        const at = where % note.length;
        note[at] = (note[at] ?? 0) ^ difference;
        expect(checkNote(note, trusted).type).not.toBe('signed');
      }),
      { numRuns: 500 },
    );
  });

  it('is read if it is as long as a note may be', () => {
    expect(parseNote('x'.repeat(1_000_000))).toMatchObject({ why: expect.stringContaining('no empty line') });
  });

  it('can be checked without throwing, whatever its bytes are', () => {
    const signed = [peter.signature, enoch.signature, peter.text];
    const lines = fc.constantFrom('\n', '— ', 'PeterNeumann ', 'x', ...signed);
    const parts = fc.array(fc.oneof(lines, fc.string({ unit: 'binary' })));
    check(
      fc.property(parts, fc.uint8Array(), (some, bytes) => {
        for (const note of [some.join(''), bytes])
          expect(checkNote(note, [PETER, ENOCH])).toHaveProperty('type');
      }),
      { numRuns: 500 },
    );
  });
});

describe('published checkpoints', () => {
  it.each(Object.values(checkpoints))('of $origin at $size are read and written', (published) => {
    const { origin, size, note } = published;
    const root = new Uint8Array(Buffer.from(published.root, 'base64'));
    const parsed = parseNote(note);
    const text = parsed.type === 'note' ? parsed.text : parsed.why;
    expect(parseCheckpoint(text)).toEqual({ type: 'checkpoint', origin, size, root, extensions: [] });
    expect(formatCheckpoint(origin, size, root)).toBe(text);
    // One has a first line that could be base64.
    expect(parseCheckpointFile(Buffer.from(note), 'kept.txt')).toMatchObject([{ note, claims: { size } }]);
  });

  it.each([checkpoints.sumdb2024, checkpoints.sumdb2023])(
    'of sum.golang.org are signed by its key',
    (given) => {
      const { origin, size } = given;
      expect(openCheckpoint(given.note, [PETER, SUMDB])).toMatchObject({
        type: 'signed',
        checkpoint: { origin, size, root: new Uint8Array(Buffer.from(given.root, 'base64')) },
        by: [SUMDB],
      });
      expect(openCheckpoint(given.note, [PETER])).toEqual({ type: 'not-signed' });
    },
  );

  it('connect an entry of the Go checksum database with a signature', () => {
    const opened = openCheckpoint(sumdb.checkpoint, [SUMDB]);
    if (opened.type !== 'signed') throw new Error(opened.type);
    const { size, root } = opened.checkpoint;
    const proof = sumdb.proof.map((hash) => Buffer.from(hash, 'base64'));
    expect(verifyInclusion(leafHash(Buffer.from(sumdb.entry)), sumdb.index, size, proof, root)).toBe(true);
  });

  it('are not signed under another origin: the example is sum.golang.org’s, renamed', () => {
    const { note } = checkpoints.example;
    const signedByItsName = note.replace('— example.com/behind-the-sofa', '— sum.golang.org');
    expect(openCheckpoint(signedByItsName, [SUMDB])).toMatchObject({ type: 'bad-signature' });
    const original = signedByItsName.replace('example.com/behind-the-sofa', 'go.sum database tree');
    expect(openCheckpoint(original, [SUMDB])).toMatchObject({ type: 'signed' });
  });
});

describe('a checkpoint', () => {
  it('has an origin with the log, the stream and the number of its recovery', () => {
    expect(ORIGIN).toBe('trial-7/access');
    expect(checkpointOrigin('trial-7', 'access', 2)).toBe('trial-7/access/2');
    for (const none of [-1, 0.5, Number.NaN])
      expect(() => checkpointOrigin('a', 'b', none)).toThrow(RangeError);
  });

  it('reads back from its note as it was written', () => {
    check(
      fc.property(fc.maxSafeNat(), roots, (size, root) => {
        const checkpoint = { type: 'checkpoint', origin: ORIGIN, size, root, extensions: [] };
        const note = signCheckpoint(ORIGIN, size, root, KEY);
        expect(note.startsWith(`trial-7/access\n${size}\n`)).toBe(true);
        expect(openCheckpoint(note, trusted)).toEqual({ type: 'signed', checkpoint, by: trusted });
      }),
    );
  });

  it('is not opened if the signed note is not a checkpoint', () => {
    const note = signNote('trial-7/access\n4711\n', KEY);
    expect(checkNote(note, trusted).type).toBe('signed');
    const why = 'not a checkpoint: there are less than three lines';
    expect(openCheckpoint(note, trusted)).toEqual({ type: 'malformed', why });
  });

  it('keeps extension lines of other logs', () => {
    expect(parseCheckpoint(`o\n1\n${ROOT64}\nWaxing gibbous\n6086d1a9\n`)).toMatchObject({
      ...{ type: 'checkpoint', extensions: ['Waxing gibbous', '6086d1a9'] },
    });
  });

  it.each([
    ['too few lines', 'o\n1\n', 'less than three lines'],
    ['no last line break', `o\n1\n${ROOT64}`, 'line break'],
    ['no origin', `\n1\n${ROOT64}\n`, 'empty line'],
    ['an empty line before an extension', `o\n1\n${ROOT64}\n\nx\n`, 'empty line'],
    ['a size with a leading zero', `o\n01\n${ROOT64}\n`, 'tree size'],
    ['a negative size', `o\n-1\n${ROOT64}\n`, 'tree size'],
    ['an exponent', `o\n1e3\n${ROOT64}\n`, 'tree size'],
    ['a size with a space', `o\n1 \n${ROOT64}\n`, 'tree size'],
    ['a size of 2^53', `o\n9007199254740992\n${ROOT64}\n`, 'tree size'],
    ['a root of 31 bytes', `o\n1\n${ROOT.subarray(1).toString('base64')}\n`, 'root hash'],
    ['a root of 33 bytes', `o\n1\n${Buffer.concat([ROOT, Buffer.of(0)]).toString('base64')}\n`, 'root hash'],
    ['a root without padding', `o\n1\n${ROOT64.slice(0, -1)}\n`, 'root hash'],
    ['base64 that is not canonical', `o\n1\n${ROOT64.replace('I=', 'J=')}\n`, 'root hash'],
  ])('with %s is malformed', (_, text, why) => {
    expect(parseCheckpoint(text)).toMatchObject({ type: 'malformed', why: expect.stringContaining(why) });
  });

  it('may have a size of 0 or 2^53 - 1', () => {
    for (const size of [0, Number.MAX_SAFE_INTEGER])
      expect(parseCheckpoint(`o\n${size}\n${ROOT64}\n`)).toMatchObject({ type: 'checkpoint', size });
  });

  it('is not signed if one of its parts is not allowed in a checkpoint', () => {
    for (const wrong of ['', 'a\nb', 'a\tb', 'a\ud800'])
      expect(() => signCheckpoint(wrong, 1, ROOT, KEY)).toThrow(RangeError);
    for (const wrong of [-1, 0.5, Number.NaN, 2 ** 53])
      expect(() => signCheckpoint(ORIGIN, wrong, ROOT, KEY)).toThrow(RangeError);
    expect(() => signCheckpoint(ORIGIN, 1, ROOT.subarray(1), KEY)).toThrow(RangeError);
  });
});

describe('a checkpoint file', () => {
  const all = [1, 4, 9].map((size) => signCheckpoint(ORIGIN, size, ROOT, KEY));
  const [first = '', second = '', third = ''] = all;
  const signature = first.split('\n\n')[1];
  const base64 = (note: string) => Buffer.from(note).toString('base64');
  const parse = (text: string | Uint8Array) => parseCheckpointFile(Buffer.from(text), 'kept.txt');

  it.each<[what: string, text: string, ...lines: number[]]>([
    ['one note', first, 1],
    ['notes with an empty line between them', all.join('\n'), 1, 7, 13],
    [
      'lines of base64, with and without empty lines',
      `\n${base64(first)}\n${base64(second)}\n\n\n${base64(third)}`,
      ...[2, 3, 6],
    ],
    ['both kinds, and one of them again', `${first}\n${base64(second)}\n${third}\n${first}`, 1, 7, 8],
  ])('can contain %s', (_, text, ...lines) => {
    const read = parse(text).map(({ where, note, claims }) => [where, note, claims.size]);
    expect(read).toEqual(lines.map((line, i) => [`kept.txt:${line}`, all[i], [1, 4, 9][i]]));
  });

  it('can contain a checkpoint whose origin could be base64', () => {
    const note = signNote(`logs\n3\n${ROOT64}\n`, KEY);
    expect(parse(note)).toMatchObject([{ note }]);
  });

  it.each<[string, string | Uint8Array, RegExp]>([
    ['empty lines', '\n\n', /^kept\.txt holds no checkpoint/],
    ['a text', 'hello\n', /^kept\.txt:1: no complete signed note begins here/],
    ['a note without its signature', first.split('— ')[0] ?? '', /^kept\.txt:1: /],
    ['a note without its last line break', first.trimEnd(), /^kept\.txt:1: /],
    ['a second note that is cut off', `${first}\n${second.slice(0, 40)}`, /^kept\.txt:7: /],
    ['a note with a line after its signature', `${first}x\n`, /^kept\.txt:1: no complete/],
    ['notes with nothing between them', first + second, /^kept\.txt:1: /],
    ['a note that is too long', `${'x'.repeat(1_000_000)}\n\n${signature}`, /^kept\.txt:1: no complete/],
    ['base64 that is cut off', `${base64(first)}\n${base64(second).slice(0, -4)}`, /^kept\.txt:2: /],
    ['lines as Windows ends them', first.replaceAll('\n', '\r\n'), /^kept\.txt:1: .*carriage return/],
    ['a note that is not a checkpoint', signNote('hello\n', KEY), /^kept\.txt:1: not a checkpoint: /],
    ['bytes that are not UTF-8', Buffer.from([0xff, 0x0a]), /^kept\.txt is not UTF-8/],
  ])('is refused with its name and line: %s', (_, text, message) => {
    const thrown = thrownBy(() => parse(text));
    expect(thrown).toBeInstanceOf(CheckpointFileError);
    for (const says of [message, /\(hint: /]) expect(thrown?.message).toMatch(says);
  });

  /** What is found by somebody who passes over everything else, and where that is. */
  const found = (text: string | Uint8Array) => {
    const unfit: string[] = [];
    const reader = new CheckpointReader('kept.txt', (where) => unfit.push(where));
    for (const line of Buffer.from(text).toString('latin1').split('\n'))
      reader.take(Buffer.from(line, 'latin1'));
    return { notes: reader.finish().map(({ note }) => note), unfit };
  };

  it('can be read past a note that was cut off anywhere, which is named or does not verify', () => {
    for (let kept = 0; kept <= second.length; kept++) {
      const cut = Buffer.from(second).subarray(0, kept);
      const { notes, unfit } = found(
        Buffer.concat([Buffer.from(`${first}\n`), cut, Buffer.from(`\n\n${third}\n`)]),
      );
      const isWhole = notes.includes(second);
      const sound = notes.filter((note) => openCheckpoint(note, [trust(KEY.publicKey)]).type === 'signed');
      expect(sound, `after ${kept} bytes`).toEqual(isWhole ? all : [first, third]);
      const isNamed = unfit[0] === 'kept.txt:7' || notes.length > sound.length;
      expect(isNamed, `after ${kept} bytes`).toBe(!isWhole && kept > 0);
    }
  });

  it.each<[string, string | Uint8Array, string[], string[]]>([
    ['nothing', '', [], []],
    ['a text', `hello\n\n${first}`, ['kept.txt:1'], [first]],
    ['a note without an empty line after it', first + second, [], [first, second]],
    [
      'lines as Windows ends them',
      `${first.replaceAll('\n', '\r\n')}\n${second}`,
      [1, 2, 3, 4, 5].map((line) => `kept.txt:${line}`),
      [second],
    ],
    [
      'bytes that are not UTF-8',
      Buffer.concat([Buffer.from([0xff, 0x0a]), Buffer.from(first)]),
      ['kept.txt:1'],
      [first],
    ],
    ['the end of a note', `${first}\n${second.slice(0, 60)}`, ['kept.txt:7'], [first]],
  ])('can be read past what is none of its kind: %s', (_, text, unfit, notes) => {
    expect(found(text)).toEqual({ notes, unfit });
  });
});
