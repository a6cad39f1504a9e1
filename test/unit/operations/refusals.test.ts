import { describe, expect, it } from 'vitest';
import { EVENTS_AN_HOUR, type KeyActor, Refusals, type RefusedBy } from '../../../src/operations/refusals.ts';
import { type Occurred, once } from '../../../src/operations/repetitions.ts';

const SITE: KeyActor = { keyId: 'k0011', user: 'site', accessRevision: 3 };
const OTHER: KeyActor = { keyId: 'k0022', user: 'other', accessRevision: 3 };
const HOUR = 3_600_000;
const at = (ms: number) => new Date(Date.parse('2026-03-01T09:00:00.000Z') + ms).toISOString();

function refusals() {
  const counter = new Refusals();
  const written: Occurred<RefusedBy>[] = [];
  return {
    written,
    /** The key is refused in the n-th way. */
    refuse: (n: number, ms: number, actor = SITE) =>
      written.push(
        ...counter.note(actor, { operation: `GET /${n}`, reason: 'not-permitted' }, once(at(ms)), ms),
      ),
    tick: (ms: number) => written.push(...counter.due(ms)),
    end: (ms: number) => written.push(...counter.all(ms)),
    total: () => written.reduce((sum, { tally }) => sum + tally.count, 0),
  };
}

describe('refusals', () => {
  it('are told apart by key, operation, study and reason', () => {
    const counter = new Refusals();
    const kinds = [
      [SITE, { operation: 'GET /balance', reason: 'not-permitted' }],
      [OTHER, { operation: 'GET /balance', reason: 'not-permitted' }],
      [SITE, { operation: 'GET /records', reason: 'not-permitted' }],
      [SITE, { operation: 'GET /balance', study: 'A', reason: 'not-permitted' }],
      [SITE, { operation: 'GET /balance', study: 'A', reason: 'malformed' }],
    ] as const;
    for (const [actor, said] of kinds)
      expect(counter.note(actor, said, once(at(0)), 0).map(({ what }) => what)).toEqual([{ actor, said }]);
    for (const [actor, said] of kinds) expect(counter.note(actor, said, once(at(1)), 1)).toEqual([]);
    expect(counter.all(2).map(({ what, tally }) => [what.actor, what.said, tally.count])).toEqual(
      kinds.map(([actor, said]) => [actor, said, 1]),
    );
  });

  it('of one key in ever new ways make a bounded number of events an hour, and none is left uncounted', () => {
    const { refuse, tick, end, total, written } = refusals();
    const ways = 20_000;
    for (let n = 0; n < ways; n++) {
      const ms = Math.floor((n / ways) * HOUR);
      refuse(n, ms);
      tick(ms);
    }
    end(HOUR - 1);
    expect(total()).toBe(ways);
    expect(written.length).toBeGreaterThan(EVENTS_AN_HOUR);
    expect(written.length).toBeLessThan(EVENTS_AN_HOUR + 10);
    expect(written.at(-1)?.what).toEqual({ actor: SITE, said: { reason: 'several' } });
  });

  it('in many ways, each again and again, are bounded as well', () => {
    const { refuse, tick, end, total, written } = refusals();
    for (let second = 0; second < 3600; second += 10) {
      for (let n = 0; n < 50; n++) refuse(n, second * 1000);
      tick(second * 1000);
    }
    end(HOUR - 1);
    expect(total()).toBe(360 * 50);
    expect(written.length).toBeLessThan(EVENTS_AN_HOUR + 10);
  });

  it('of another key do not suffer from it, and the next hour tells them apart again', () => {
    const { refuse, written } = refusals();
    for (let n = 0; n < 1000; n++) refuse(n, 0);
    refuse(5000, 1, OTHER);
    expect(written.at(-1)?.what).toMatchObject({ actor: OTHER, said: { operation: 'GET /5000' } });
    refuse(6000, HOUR);
    expect(written.at(-1)?.what).toMatchObject({ actor: SITE, said: { operation: 'GET /6000' } });
  });

  it('that could not be written cost nothing of the hour', () => {
    const counter = new Refusals();
    for (let n = 0; n < 500; n++)
      for (const one of counter.note(SITE, { operation: `GET /${n}`, reason: 'failed' }, once(at(0)), 0))
        counter.giveBack(one, 0);
    const sums = counter.all(1);
    expect(sums.reduce((sum, { tally }) => sum + tally.count, 0)).toBe(500);
    expect(sums.length).toBe(EVENTS_AN_HOUR + 2);
  });
});
