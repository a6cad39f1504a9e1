/** The participants of a study, against a list that is worked out from the beginning each time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newIdProblem, problemsOfId } from '../../../src/core/model/participant-id.ts';
import {
  corrected,
  type Participant,
  Participants,
  underNewNames,
} from '../../../src/core/model/participants.ts';
import { check } from '../../support/property.ts';

function participant(participantId: string, sequence: number, level = 'a'): Participant {
  return {
    ...{ participantId, sequence, levels: [level], revision: sequence, treatment: 'A', slot: 0 },
    ...{ at: '2026-03-01T09:00:00.000Z', user: 'site', onBehalfOf: undefined, bgStateAfter: undefined },
  };
}

describe('an id', () => {
  it.each([
    [[], ['1', 'x'.repeat(128), '😀'.repeat(128), 'a  b', '__proto__', 'a\u200bb']],
    [['id is empty'], ['']],
    [['id has more than 128 characters'], ['x'.repeat(129), '😀'.repeat(129)]],
    [['id contains a control character'], ['a\u0000b', 'a\tb', 'a\u007f', 'a\u0085b']],
    [['id begins or ends with white space'], [' a', 'a ', '\u00a0a', 'a\u3000', '\u2028a', ' ']],
  ])('has the problems %j: %j', (problems, ids) => {
    for (const id of ids) expect([...problemsOfId(id)], JSON.stringify(id)).toEqual(problems);
  });

  it('that is new is no formula, and none that looks like another', () => {
    expect(['=1', 'n\u00ad1', 'a-1'].map(newIdProblem)).toEqual([
      expect.stringContaining('begins with "="'),
      expect.stringContaining('contains U+00AD'),
      undefined,
    ]);
  });
});

it('a list that somebody still reads stays when a wrong entry is replaced or levels are renamed', () => {
  const all = new Participants();
  for (const id of ['a', 'b']) all.add(participant(id, all.next));
  const before = all.inOrder;
  const shown = [...before];
  all.add(participant('a', all.next));
  all.rename([{ factor: 0, from: 'a', to: 'n' }]);
  expect(before).toEqual(shown);
  expect(all.inOrder.map(({ levels }) => levels)).toEqual([['n'], ['n']]);
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
const level = fc.constantFrom('a', 'b', 'c');
const chosen = fc.record({ id: fc.constantFrom(...IDS), level, from: level });
type Chosen = { readonly id: string; readonly level: string; readonly from: string };
const step = (does: (pair: Pair, n: number, one: Chosen) => void): fc.Arbitrary<Step> =>
  chosen.map(
    (one): Step =>
      (pair, n) =>
        does(pair, n, one),
  );

/** Does the same to the participants and to the plain list of them. */
function changed(pair: Pair, id: string, change: (before: Participant) => Participant): void {
  const before = pair.all.get(id);
  if (!before) return;
  pair.all.replace(change(before));
  pair.naive.replace(change(before));
}

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  // Whoever is there already was a wrong entry.
  { weight: 4, arbitrary: step((pair, _, { id, level: at }) => enrol(pair, id, at)) },
  step((pair, n, { id }) => changed(pair, id, (before) => corrected(before, { id: `new ${n}` }))),
  step((pair, _, { id }) => changed(pair, id, (before) => corrected(before, { id }))),
  step((pair, _, { id, level: at }) => changed(pair, id, (before) => corrected(before, { levels: [at] }))),
  step((pair, _, { from, level: to }) => {
    const renamings = [{ factor: 0, from, to }];
    pair.all.rename(renamings);
    pair.naive.list = pair.naive.list.map((one) => underNewNames(one, renamings));
  }),
  step((pair) => {
    pair.all.clear();
    Object.assign(pair, { naive: new Naive(), sequence: 0 });
  }),
  // From here on, the list is kept up to date.
  step(({ all }) => void all.inOrder),
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

const steps = fc.array(anyStep, { maxLength: 40 });

it('whatever happens, everybody is found, also on a fork, which leaves its original and the list as they are', () => {
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
