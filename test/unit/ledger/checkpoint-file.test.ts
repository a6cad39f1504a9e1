import { describe, expect, it } from 'vitest';
import { CheckpointFileError, parseCheckpointFile } from '../../../src/core/ledger/checkpoint-file.ts';
import { signNote } from '../../../src/core/ledger/signed-note.ts';
import { checkpoints as published } from '../../support/published-notes.ts';
import { HISTORY, KEY, logOf, STUDY } from '../verify/support.ts';

const log = logOf(HISTORY);
const notes = [1, 4, 9].map((size) => log.checkpoint(STUDY, size).note);
const [first = '', second = '', third = ''] = notes;
const base64 = (note: string) => Buffer.from(note).toString('base64');
const parse = (text: string) => parseCheckpointFile(Buffer.from(text), 'kept.txt');
const read = (text: string) => parse(text).map(({ where, note, claims }) => [where, note, claims.size]);

describe('a checkpoint file', () => {
  it.each<[what: string, text: string, ...lines: number[]]>([
    ['one note', first, 1],
    ['notes with an empty line between them', notes.join('\n'), 1, 7, 13],
    [
      'lines of base64, with and without empty lines',
      `\n${base64(first)}\n${base64(second)}\n\n\n${base64(third)}\n`,
      ...[2, 3, 6],
    ],
    ['both kinds', `${first}\n${base64(second)}\n${third}`, 1, 7, 8],
  ])('can contain %s', (_, text, ...lines) => {
    const [sizes, all] = [
      [1, 4, 9],
      [first, second, third],
    ];
    expect(read(text)).toEqual(lines.map((line, i) => [`kept.txt:${line}`, all[i], sizes[i]]));
  });

  it('can be one line of base64, without a line break', () => {
    expect(read(base64(second))).toEqual([['kept.txt:1', second, 4]]);
  });

  it('can contain published checkpoints of other logs, one with a first line that could be base64', () => {
    for (const { note, size } of Object.values(published))
      expect(read(note)).toEqual([['kept.txt:1', note, size]]);
    const note = signNote(`logs\n3\n${Buffer.alloc(32).toString('base64')}\n`, KEY);
    expect(read(note)).toEqual([['kept.txt:1', note, 3]]);
  });

  it.each([
    ['nothing', '', /^kept\.txt holds no checkpoint/],
    ['empty lines', '\n\n', /^kept\.txt holds no checkpoint/],
    ['a text', 'hello\n', /^kept\.txt:1: no complete signed note begins here/],
    ['a note without its signature', first.split('— ')[0] ?? '', /^kept\.txt:1: /],
    ['a note without its last line break', first.trimEnd(), /^kept\.txt:1: /],
    ['a second note that is cut off', `${first}\n${second.slice(0, 40)}`, /^kept\.txt:7: /],
    ['notes with nothing between them', first + second, /^kept\.txt:1: /],
    ['base64 that is cut off', `${base64(first)}\n${base64(second).slice(0, -4)}`, /^kept\.txt:2: /],
    ['base64 with a letter changed in the padding', base64(`${first}`).replace(/=*$/, '!'), /^kept\.txt:1: /],
    ['lines as Windows ends them', first.replaceAll('\n', '\r\n'), /^kept\.txt:1: .*carriage return/],
    ['a note that is not a checkpoint', signNote('hello\n', KEY), /^kept\.txt:1: not a checkpoint: /],
    [
      'a checkpoint of no size',
      signNote(`log/x\n-1\n${Buffer.alloc(32).toString('base64')}\n`, KEY),
      /no tree size/,
    ],
  ])('is refused with its name and line: %s', (_, text, message) => {
    const parsed = () => parse(text);
    expect(parsed).toThrow(CheckpointFileError);
    expect(parsed).toThrow(message);
    expect(parsed).toThrow(/\(hint: /);
  });

  it('is refused if it is not UTF-8', () => {
    expect(() => parseCheckpointFile(Buffer.from([0xff, 0x0a]), 'kept.txt')).toThrow(/not UTF-8/);
  });
});
