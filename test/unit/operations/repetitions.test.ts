import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Occurrence, once, Repetitions } from '../../../src/service/operations/repetitions.ts';
import { check } from '../../support/property.ts';

const WINDOW = 60_000;
const START = Date.parse('2026-03-01T09:00:00.000Z');
const at = (ms: number) => new Date(START + ms).toISOString();
const occurred = (kind: string, ms: number): Occurrence<string> => ({
  kind,
  what: kind,
  tally: once(at(ms)),
});

/** @param events that can be paid for */
function counting(events = Number.POSITIVE_INFINITY) {
  const repetitions = new Repetitions<string>(() => WINDOW);
  let left = events;
  const pay = () => left-- > 0;
  const note = (kind: string, ms: number) => repetitions.note(occurred(kind, ms), ms, pay);
  return { repetitions, note };
}

describe('a repeated operation', () => {
  it('is reported as one sum when the window ends', () => {
    const { repetitions, note } = counting();
    expect(note('a', 0)).toBe('first');
    expect([note('a', 10), note('a', 20_000), note('a', 59_999)]).toEqual(['counted', 'counted', 'counted']);
    expect(repetitions.due(59_999)).toEqual([]);
    const tally = { count: 3, firstAt: at(10), lastAt: at(59_999) };
    expect(repetitions.due(60_000)).toEqual([{ kind: 'a', what: 'a', tally }]);
    expect(repetitions.due(60_000)).toEqual([]);
  });

  it('is reported once per window if it never stops', () => {
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

  it('is reported at once again after a window without it, and apart from other kinds', () => {
    const { repetitions, note } = counting();
    expect([note('a', 0), note('b', 0)]).toEqual(['first', 'first']);
    note('b', 1);
    expect(repetitions.all().map(({ kind }) => kind)).toEqual(['b']);
    repetitions.due(60_000);
    expect(note('a', 61_000)).toBe('first');
  });

  it('is added to later ones if it could not be written', () => {
    const { repetitions, note } = counting();
    note('a', 0);
    note('a', 5);
    repetitions.giveBack(occurred('a', 0), 10);
    const tally = { count: 2, firstAt: at(0), lastAt: at(5) };
    expect(repetitions.due(59_999)).toEqual([]);
    expect(repetitions.due(60_010)).toEqual([{ kind: 'a', what: 'a', tally }]);
  });

  it('is counted exactly, in any sequence of events', () => {
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
        const write = (sums: readonly Occurrence<string>[], fails: boolean) => {
          for (const sum of sums)
            if (fails) repetitions.giveBack(sum, ms);
            else written.set(sum.kind, (written.get(sum.kind) ?? 0) + sum.tally.count);
        };
        for (const { kind, pause, fails } of happenings) {
          ms += pause;
          write(repetitions.due(ms), fails);
          if (note(kind, ms) === 'first') write([occurred(kind, ms)], fails);
        }
        write(repetitions.all(), false);
        for (const kind of ['a', 'b', 'c'])
          expect(written.get(kind) ?? 0).toBe(happenings.filter((one) => one.kind === kind).length);
      }),
    );
  });

  it('is reported as over budget beyond it, and each event is charged once', () => {
    const { repetitions, note } = counting(3);
    expect([note('a', 0), note('b', 0)]).toEqual(['first', 'first']);
    // The sum of the window costs one event, however much is in it.
    expect([note('a', 1), note('a', 2), note('a', 3)]).toEqual(['counted', 'counted', 'counted']);
    expect([note('b', 4), note('c', 5)]).toEqual(['unpaid', 'unpaid']);
    expect(repetitions.due(WINDOW).map(({ kind, tally }) => [kind, tally.count])).toEqual([['a', 3]]);
    expect(note('a', WINDOW)).toBe('unpaid');
  });

  it('is refunded when it is forgotten', () => {
    const { repetitions, note } = counting();
    note('a', 0);
    expect(repetitions.forget('a')).toBe(1);
    expect(note('a', 1)).toBe('first');
    note('a', 2);
    expect(repetitions.forget('a')).toBe(2);
  });
});
