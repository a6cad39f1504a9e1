import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Occurred, once, Repetitions } from '../../../src/operations/repetitions.ts';
import { check } from '../../support/property.ts';

const WINDOW = 60_000;
const START = Date.parse('2026-03-01T09:00:00.000Z');
const at = (ms: number) => new Date(START + ms).toISOString();
const occurred = (kind: string, ms: number): Occurred<string> => ({ kind, what: kind, tally: once(at(ms)) });

function counting() {
  const repetitions = new Repetitions<string>(WINDOW);
  return { repetitions, note: (kind: string, ms: number) => repetitions.note(occurred(kind, ms), ms) };
}

describe('what happens', () => {
  it('for the first time is handed out at once', () => {
    expect(counting().note('a', 5)).toEqual(occurred('a', 5));
  });

  it('again is handed out as one sum, when the window has ended', () => {
    const { repetitions, note } = counting();
    note('a', 0);
    expect([note('a', 10), note('a', 20_000), note('a', 59_999)]).toEqual([undefined, undefined, undefined]);
    expect(repetitions.due(59_999)).toEqual([]);
    const tally = { count: 3, firstAt: at(10), lastAt: at(59_999) };
    expect(repetitions.due(60_000)).toEqual([{ kind: 'a', what: 'a', tally }]);
    expect(repetitions.due(60_000)).toEqual([]);
  });

  it('all the time is handed out once a window', () => {
    const { repetitions, note } = counting();
    const sums: number[] = [];
    for (let second = 0; second < 600; second++) {
      for (let n = 0; n < 50; n++) note('a', second * 1000);
      sums.push(...repetitions.due(second * 1000).map(({ tally }) => tally.count));
    }
    expect(sums.length).toBe(9);
    sums.push(...repetitions.all().map(({ tally }) => tally.count));
    expect(1 + sums.reduce((sum, count) => sum + count, 0)).toBe(600 * 50);
  });

  it('after a window of silence is handed out at once again', () => {
    const { repetitions, note } = counting();
    note('a', 0);
    repetitions.due(60_000);
    expect(note('a', 61_000)).toEqual(occurred('a', 61_000));
  });

  it('of another kind is counted by itself', () => {
    const { repetitions, note } = counting();
    expect([note('a', 0), note('b', 0)]).not.toContain(undefined);
    note('b', 1);
    expect(repetitions.all().map(({ kind }) => kind)).toEqual(['b']);
  });

  it('and could not be written is added to what comes after it', () => {
    const { repetitions, note } = counting();
    const first = note('a', 0);
    note('a', 5);
    if (first) repetitions.giveBack(first, 10);
    const tally = { count: 2, firstAt: at(0), lastAt: at(5) };
    expect(repetitions.due(59_999)).toEqual([]);
    expect(repetitions.due(60_010)).toEqual([{ kind: 'a', what: 'a', tally }]);
  });

  it('is counted exactly, whatever happens when', () => {
    const happening = fc.record({
      kind: fc.constantFrom('a', 'b', 'c'),
      pause: fc.nat(90_000),
      fails: fc.boolean(),
    });
    check(
      fc.property(fc.array(happening, { maxLength: 200 }), (happenings) => {
        const { repetitions, note } = counting();
        const written = new Map<string, number>();
        let ms = 0;
        const write = (sums: readonly Occurred<string>[], fails: boolean) => {
          for (const sum of sums)
            if (fails) repetitions.giveBack(sum, ms);
            else written.set(sum.kind, (written.get(sum.kind) ?? 0) + sum.tally.count);
        };
        for (const { kind, pause, fails } of happenings) {
          ms += pause;
          write(repetitions.due(ms), fails);
          const first = note(kind, ms);
          if (first) write([first], fails);
        }
        write(repetitions.all(), false);
        for (const kind of ['a', 'b', 'c'])
          expect(written.get(kind) ?? 0).toBe(happenings.filter((one) => one.kind === kind).length);
      }),
    );
  });

  it('in more kinds than are kept in memory is handed out each time', () => {
    const { note } = counting();
    for (let n = 0; n < 10_000; n++) note(`kind ${n}`, 0);
    expect(note('another', 0)).toEqual(occurred('another', 0));
    expect(note('another', 1)).toEqual(occurred('another', 1));
    expect(note('kind 7', 1)).toBeUndefined();
  });
});
