import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import {
  checkpointOrigin,
  formatCheckpoint,
  openCheckpoint,
  signCheckpoint,
} from '../../../src/core/ledger/checkpoint.ts';
import { parseCheckpoint } from '../../../src/core/ledger/checkpoint-text.ts';
import { parseNote } from '../../../src/core/ledger/note.ts';
import { verifyInclusion } from '../../../src/core/ledger/proofs.ts';
import { checkNote, signNote } from '../../../src/core/ledger/signed-note.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { parseVerifierKey } from '../../../src/core/ledger/verifier-key.ts';
import { check } from '../../support/property.ts';
import { checkpoints, peter } from '../../support/published-notes.ts';
import sumdb from '../../vectors/sumdb-proof.json' with { type: 'json' };

const trust = (text: string) => parseVerifierKey(text, 'the trusted key');
const SUMDB = trust(sumdb.key);
const ROOT = Buffer.from(checkpoints.example.root, 'base64');
const ROOT64 = checkpoints.example.root;

const textOf = (note: string) => {
  const parsed = parseNote(note);
  return parsed.type === 'note' ? parsed.text : parsed.why;
};

describe('published checkpoints', () => {
  it.each(Object.values(checkpoints))('of $origin at $size are read and written', (published) => {
    const { origin, size, note } = published;
    const root = new Uint8Array(Buffer.from(published.root, 'base64'));
    expect(parseCheckpoint(textOf(note))).toEqual({ type: 'checkpoint', origin, size, root, extensions: [] });
    expect(formatCheckpoint(origin, size, root)).toBe(textOf(note));
  });

  it.each([checkpoints.sumdb2024, checkpoints.sumdb2023])(
    'of sum.golang.org are signed by its key',
    (given) => {
      const { origin, size } = given;
      expect(openCheckpoint(given.note, [trust(peter.key), SUMDB])).toMatchObject({
        type: 'signed',
        checkpoint: { origin, size, root: new Uint8Array(Buffer.from(given.root, 'base64')) },
        by: [SUMDB],
      });
      expect(openCheckpoint(given.note, [trust(peter.key)])).toEqual({ type: 'not-signed' });
      expect(openCheckpoint(given.note.replace(`${size}`, `${size + 1}`), [SUMDB])).toMatchObject({
        type: 'bad-signature',
      });
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
    expect(openCheckpoint(original, [SUMDB])).toMatchObject({
      type: 'signed',
      checkpoint: { size: 20852163 },
    });
  });
});

describe('a checkpoint', () => {
  const key = makeSigningKey('trial-7');
  const trusted = [trust(key.publicKey)];
  const origin = checkpointOrigin('trial-7', 'access');

  it('has an origin with the log, the stream and the number of its recovery', () => {
    const stream = 'study-3ba151c5-8d58-5b8f-813e-1e7a5f0dc9ca';
    expect(checkpointOrigin('trial-7', stream)).toBe(`trial-7/${stream}`);
    expect(checkpointOrigin('trial-7', stream, 2)).toBe(`trial-7/${stream}/2`);
    for (const none of [-1, 0.5, Number.NaN])
      expect(() => checkpointOrigin('a', 'b', none)).toThrow(RangeError);
  });

  it('reads back from its note as it was written', () => {
    const roots = fc.uint8Array({ minLength: 32, maxLength: 32 });
    check(
      fc.property(fc.maxSafeNat(), roots, (size, root) => {
        const checkpoint = { type: 'checkpoint', origin, size, root, extensions: [] };
        const note = signCheckpoint(origin, size, root, key);
        expect(note.startsWith(`trial-7/access\n${size}\n`)).toBe(true);
        expect(openCheckpoint(note, trusted)).toEqual({ type: 'signed', checkpoint, by: trusted });
      }),
    );
  });

  it('is not opened if any character is changed', () => {
    const note = signCheckpoint(origin, 4711, ROOT, key);
    for (let at = 0; at < note.length; at++)
      for (const other of ['0', 'A', 'B', '=', '\n', '']) {
        const changed = note.slice(0, at) + other + note.slice(at + 1);
        if (changed !== note) expect(openCheckpoint(changed, trusted).type).not.toBe('signed');
      }
  });

  it('is not opened if the signed note is not a checkpoint', () => {
    const note = signNote('trial-7/access\n4711\n', key);
    expect(checkNote(note, trusted).type).toBe('signed');
    expect(openCheckpoint(note, trusted)).toEqual({
      type: 'malformed',
      why: 'not a checkpoint: there are less than three lines',
    });
  });

  it('keeps extension lines of other logs', () => {
    expect(parseCheckpoint(`o\n1\n${ROOT64}\nWaxing gibbous\n6086d1a9\n`)).toMatchObject({
      type: 'checkpoint',
      extensions: ['Waxing gibbous', '6086d1a9'],
    });
  });

  it.each([
    ['nothing in it', '', 'less than three lines'],
    ['too few lines', 'o\n1\n', 'less than three lines'],
    ['no last line break', `o\n1\n${ROOT64}`, 'line break'],
    ['no origin', `\n1\n${ROOT64}\n`, 'empty line'],
    ['an empty line at the end', `o\n1\n${ROOT64}\n\n`, 'empty line'],
    ['an empty line before an extension', `o\n1\n${ROOT64}\n\nx\n`, 'empty line'],
    ['a size with a leading zero', `o\n01\n${ROOT64}\n`, 'tree size'],
    ['a size of 00', `o\n00\n${ROOT64}\n`, 'tree size'],
    ['a size with a sign', `o\n+1\n${ROOT64}\n`, 'tree size'],
    ['a negative size', `o\n-1\n${ROOT64}\n`, 'tree size'],
    ['a fraction', `o\n1.0\n${ROOT64}\n`, 'tree size'],
    ['an exponent', `o\n1e3\n${ROOT64}\n`, 'tree size'],
    ['a hexadecimal size', `o\n0x1\n${ROOT64}\n`, 'tree size'],
    ['a size with a space', `o\n1 \n${ROOT64}\n`, 'tree size'],
    ['a size of other digits', `o\n١\n${ROOT64}\n`, 'tree size'],
    ['a size of 2^53', `o\n9007199254740992\n${ROOT64}\n`, 'tree size'],
    ['a size of many digits', `o\n${'9'.repeat(1000)}\n${ROOT64}\n`, 'tree size'],
    ['a root of 31 bytes', `o\n1\n${ROOT.subarray(1).toString('base64')}\n`, 'root hash'],
    ['a root of 33 bytes', `o\n1\n${Buffer.concat([ROOT, Buffer.of(0)]).toString('base64')}\n`, 'root hash'],
    ['a root without padding', `o\n1\n${ROOT64.slice(0, -1)}\n`, 'root hash'],
    ['a root in hex', `o\n1\n${ROOT.toString('hex')}\n`, 'root hash'],
    ['base64 that is not canonical', `o\n1\n${ROOT64.replace('I=', 'J=')}\n`, 'root hash'],
  ])('with %s is malformed', (_, text, why) => {
    const parsed = parseCheckpoint(text);
    expect(parsed.type).toBe('malformed');
    expect(parsed).toHaveProperty('why', expect.stringContaining(why));
  });

  it('may have a size of 0 or 2^53 - 1', () => {
    for (const size of [0, Number.MAX_SAFE_INTEGER])
      expect(parseCheckpoint(`o\n${size}\n${ROOT64}\n`)).toMatchObject({ type: 'checkpoint', size });
  });

  it('is not signed if one of its parts is not allowed in a checkpoint', () => {
    for (const wrong of ['', 'a\nb', 'a\tb', 'a\ud800'])
      expect(() => signCheckpoint(wrong, 1, ROOT, key)).toThrow(RangeError);
    for (const wrong of [-1, 0.5, Number.NaN, 2 ** 53])
      expect(() => signCheckpoint(origin, wrong, ROOT, key)).toThrow(RangeError);
    expect(() => signCheckpoint(origin, 1, ROOT.subarray(1), key)).toThrow(RangeError);
  });
});
