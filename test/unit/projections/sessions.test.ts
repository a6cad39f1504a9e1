import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../events/catalogue.ts';
import { endedSessions } from '../../../projections/sessions.ts';
import { event, paused } from '../../support/facts.ts';

const HOUR = 3_600_000;
const START = Date.parse('2026-11-23T00:00:00.000Z');
const id = (n: number) => Buffer.alloc(16, n).toString('base64url');

/** Folds facts, each with the hours since the start at which it was written. */
function folded(facts: readonly (readonly [number, Fact])[]) {
  return facts.reduce(
    (state, [hours, fact], revision) =>
      endedSessions.apply(state, {
        ...event(fact, revision, { stream: 'operations' }),
        at: new Date(START + hours * HOUR).toISOString(),
      }),
    endedSessions.initial(),
  );
}
const ended = (n: number): Fact => ({
  type: 'SessionEnded',
  data: { sessionId: id(n), keyId: 'k0011' },
  sections: {},
});
const began = (n: number): Fact => ({ ...ended(n), type: 'SessionBegan' }) as Fact;

describe('the ended sessions', () => {
  it('are only those of sign-outs', () => {
    const state = folded([
      [0, began(1)],
      [1, began(2)],
      [2, ended(1)],
      [3, paused],
    ]);
    expect([...state]).toEqual([[id(1), START + 2 * HOUR]]);
  });

  it('are forgotten when they would be over anyway, by the time of the events', () => {
    const first = [0, ended(1)] as const;
    expect([...folded([first, [12, ended(2)]]).keys()]).toEqual([id(1), id(2)]);
    expect([...folded([first, [12.1, ended(2)]]).keys()]).toEqual([id(2)]);
  });

  it('stay few, however many there were', () => {
    const facts = Array.from({ length: 250 }, (_, n) => [n, ended(n)] as const);
    expect(folded(facts).size).toBe(13);
  });
});
