/** The participants of a study, against a list that is worked out from the beginning each time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { corrected, underNewNames } from '../../../projections/enrolled.ts';
import { type Participant, Participants } from '../../../src/core/model/participants.ts';
import { check } from '../../support/property.ts';

const LEVELS = ['a', 'b', 'c'];

function participant(participantId: string, sequence: number, level = 'a'): Participant {
  return {
    ...{ participantId, sequence, levels: [level], revision: sequence, treatment: 'A', slot: 0 },
    ...{ at: '2026-03-01T09:00:00.000Z', user: 'site', onBehalfOf: undefined, bgStateAfter: undefined },
  };
}

function having(...ids: string[]): Participants {
  const all = new Participants();
  for (const id of ids) all.add(participant(id, all.next));
  return all;
}

const idsOf = (all: Participants) => all.inOrder.map(({ participantId }) => participantId);

describe('participants', () => {
  it('are in the order of their enrolment, whatever their ids', () => {
    expect(new Participants().isEmpty()).toBe(true);
    expect(new Participants().inOrder).toEqual([]);
    const all = having('9', '10', '__proto__', '1');
    expect([all.isEmpty(), all.next]).toEqual([false, 5]);
    expect(idsOf(all)).toEqual(['9', '10', '__proto__', '1']);
  });

  it('are found by the id as randomized, the id in use and every id in between', () => {
    const all = having('a', 'b');
    for (const id of ['x', 'y', 'z']) all.replace(corrected(all.get('a') ?? participant('a', 1), { id }));
    for (const id of ['a', 'x', 'y', 'z']) expect(all.find(id)?.corrected?.id).toBe('z');
    expect([all.get('a')?.participantId, all.get('z')]).toEqual(['a', undefined]);
    expect([all.find('w'), all.find('')]).toEqual([undefined, undefined]);
  });

  it('are no longer those whose wrong entry was replaced, which leaves a gap', () => {
    const all = having('a', 'b', 'c');
    expect(idsOf(all)).toEqual(['a', 'b', 'c']);
    all.replace(corrected(all.get('b') ?? participant('b', 2), { id: 'former' }));
    all.add(participant('b', all.next));
    expect(all.inOrder.map((one) => [one.participantId, one.sequence])).toEqual([
      ['a', 1],
      ['c', 3],
      ['b', 4],
    ]);
    expect(all.find('former')?.sequence).toBe(4);
    expect(all.next).toBe(5);
  });

  it('leave a list as it is that somebody still reads when a wrong entry is replaced or levels are renamed', () => {
    const all = having('a', 'b');
    const before = all.inOrder;
    const shown = [...before];
    all.add(participant('a', all.next));
    all.rename([{ factor: 0, from: 'a', to: 'n' }]);
    expect(before).toEqual(shown);
    expect(all.inOrder.map(({ levels }) => levels)).toEqual([['n'], ['n']]);
  });
});

/** The same, as plain as can be. */
class Naive {
  list: Participant[] = [];
  former = new Map<string, string>();

  copy(): Naive {
    return Object.assign(new Naive(), { list: [...this.list], former: new Map(this.former) });
  }

  find(id: string): Participant | undefined {
    const byId = (wanted: string | undefined) => this.list.find((one) => one.participantId === wanted);
    return byId(id) ?? byId(this.former.get(id));
  }

  add(one: Participant): void {
    this.list = [...this.list.filter(({ participantId }) => participantId !== one.participantId), one];
  }

  replace(after: Participant): void {
    this.list = this.list.map((one) => (one.participantId === after.participantId ? after : one));
    if (after.corrected) this.former.set(after.corrected.id, after.participantId);
  }
}

interface Pair {
  all: Participants;
  naive: Naive;
  sequence: number;
}
type Step = (pair: Pair, n: number) => void;

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const ids = fc.constantFrom(...IDS);
const level = fc.constantFrom(...LEVELS);

/** Does the same to the participants and to the plain list of them. */
function changed(pair: Pair, id: string, change: (before: Participant) => Participant): void {
  const before = pair.all.get(id);
  if (!before) return;
  pair.all.replace(change(before));
  pair.naive.replace(change(before));
}

const step: fc.Arbitrary<Step> = fc.oneof(
  // Whoever is there already was a wrong entry.
  {
    weight: 4,
    arbitrary: fc.tuple(ids, level).map(
      ([id, at]): Step =>
        (pair) =>
          enrol(pair, id, at),
    ),
  },
  ids.map(
    (id): Step =>
      (pair, n) =>
        changed(pair, id, (before) => corrected(before, { id: `new ${n}` })),
  ),
  ids.map(
    (id): Step =>
      (pair) =>
        changed(pair, id, (before) => corrected(before, { id })),
  ),
  fc.tuple(ids, level).map(
    ([id, at]): Step =>
      (pair) =>
        changed(pair, id, (before) => corrected(before, { levels: [at] })),
  ),
  fc.tuple(level, level).map(
    ([from, to]): Step =>
      (pair) => {
        const renamings = [{ factor: 0, from, to }];
        pair.all.rename(renamings);
        pair.naive.list = pair.naive.list.map((one) => underNewNames(one, renamings));
      },
  ),
  // From here on, the list is kept up to date.
  fc.constant((pair: Pair) => void pair.all.inOrder),
);

function enrol(pair: Pair, id: string, at: string): void {
  const one = participant(id, ++pair.sequence, at);
  pair.all.add(one);
  pair.naive.add(one);
}

function expectSame({ all, naive, sequence }: Pair, n: number): void {
  const renamed = Array.from({ length: n }, (_, i) => `new ${i}`);
  for (const id of [...IDS, ...renamed, 'nobody']) {
    expect(all.find(id)).toEqual(naive.find(id));
    expect(all.get(id)).toEqual(IDS.includes(id) ? naive.find(id) : undefined);
  }
  expect(new Set(all.all())).toEqual(new Set(naive.list));
  expect([all.isEmpty(), all.next]).toEqual([naive.list.length === 0, sequence + 1]);
}

describe('after anything that can happen to them', () => {
  const steps = fc.array(step, { maxLength: 40 });

  it('everybody is found, and the list is in order', () => {
    check(
      fc.property(steps, (all) => {
        const pair: Pair = { all: new Participants(), naive: new Naive(), sequence: 0 };
        for (const [n, next] of all.entries()) next(pair, n);
        expectSame(pair, all.length);
        expect(pair.all.inOrder).toEqual(pair.naive.list);
      }),
      { numRuns: 500 },
    );
  });

  it('a fork has them too, and what happens on it changes neither its original nor the list of that', () => {
    check(
      fc.property(steps, steps, fc.boolean(), (before, after, hasList) => {
        const pair: Pair = { all: new Participants(), naive: new Naive(), sequence: 0 };
        for (const [n, next] of before.entries()) next(pair, n);
        if (hasList) expect(pair.all.inOrder).toEqual(pair.naive.list);
        const fork: Pair = { all: pair.all.fork(), naive: pair.naive.copy(), sequence: pair.sequence };
        for (const [n, next] of after.entries()) next(fork, before.length + n);
        const length = before.length + after.length;
        expectSame(fork, length);
        expect(fork.all.inOrder).toEqual(fork.naive.list);
        expectSame(pair, length);
        expect(pair.all.inOrder).toEqual(pair.naive.list);
      }),
      { numRuns: 500 },
    );
  });
});
