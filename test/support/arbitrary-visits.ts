/** Any life of a study with packs at visits, and what the specification says of each request for a pack. Many are refused. */
import fc from 'fast-check';
import type { DesignChange } from '../../events/study.ts';
import type { FlatAct, Written } from './acts.ts';
import { SITE } from './life.ts';
import type { Asks, Comes, PackOracle } from './pack-oracle.ts';

export { SITE };
export const ARMS = ['A', 'B', 'C'];
/** The key of `north` is for those at N. */
export const USERS = ['site', 'north', 'pharmacy', 'operator'] as const;
export type User = (typeof USERS)[number];

export interface Request {
  readonly by: User;
  readonly written: Written;
  /** Of a request for a pack. */
  readonly says?: (isDry: boolean) => Comes;
  /** Of an amendment of the visits. */
  readonly isPossible?: boolean;
}
/** @param amendment the number of the next one */
export type VisitStep = (oracle: PackOracle, amendment: number) => Request;

const asksOf = (by: User): Asks => ({
  isSupply: by === 'pharmacy' || by === 'operator',
  level: by === 'north' ? 'N' : undefined,
});
const ofKey = (by: User) => ({
  ...{ user: by, isSupply: asksOf(by).isSupply },
  ...(by === 'north' && { where: [{ factor: SITE, levels: ['N'] }] }),
});

/** Few, so that much happens to each. */
const ids = fc.constantFrom('a', 'b', 'Zoë 3', 'a', 'b', 'Zoë 3', 'c', 'd');
const byHand = fc.constantFrom('d', 'd', 'c');
const users = fc.constantFrom<User>(...USERS, 'site', 'site', 'pharmacy');
const places = fc.constantFrom('N', 'S');
const visits = fc.constantFrom('V2', 'v2', 'V3', 'V3', 'Week 12', 'week 12', 'U1', 'u1', 'c');
/** Of few, sometimes one too many. */
const nth = fc.nat(4);
const operator = (written: Written): Request => ({ by: 'operator', written });
const act = (name: FlatAct['act'], participantId: string, members: object) =>
  operator({ act: name, user: 'operator', participantId, ...members });

const enrolled = (participantId: string, level: string): Request => ({
  ...{ by: 'site', written: { type: 'randomize', participantId, levels: [level], user: 'site' } },
});

/** One of those that the participant has or never got; sometimes none of theirs. */
const codeOf = (oracle: PackOracle, id: string, n: number): string => {
  const codes = oracle.find(id)?.had.map(({ code }) => code) ?? [];
  return codes[n] ?? 'none';
};

/** Steps that ask for something with arbitrary values. */
const step = <T>(
  values: fc.Arbitrary<T>,
  asks: (value: T, oracle: PackOracle, amendment: number) => Request,
): fc.Arbitrary<VisitStep> => values.map((value) => (oracle, amendment) => asks(value, oracle, amendment));

const enrol = step(fc.record({ id: ids, place: places }), ({ id, place }, oracle) =>
  enrolled(id, oracle.level(place)),
);

const dispensed =
  (by: User, participantId: string, visit: string): VisitStep =>
  (oracle) => ({
    ...{ by, written: { act: 'PackDispensed', participantId, visit, ...ofKey(by) } },
    says: (isDry) => oracle.dispense(participantId, visit, { ...asksOf(by), isDry }),
  });
const dispense = fc
  .record({ by: users, participantId: ids, visit: visits })
  .map(({ by, participantId, visit }) => dispensed(by, participantId, visit));

const replace = step(fc.record({ by: users, id: ids, n: nth }), ({ by, id, n }, oracle) => {
  const code = codeOf(oracle, id, n);
  return {
    ...{ by, written: { act: 'CodeReplaced', participantId: id, code, cause: 'lost', ...ofKey(by) } },
    says: (isDry) => oracle.replace(id, code, { ...asksOf(by), isDry }),
  };
});

const corrected =
  (by: User, participantId: string, n: number, to: string | null): VisitStep =>
  (oracle) => {
    const code = codeOf(oracle, participantId, n);
    const asked = { participantId, code, to, cause: 'entry', note: 'a slip' };
    return {
      ...{ by, written: { act: 'DispensationCorrected', ...asked, ...ofKey(by) } },
      says: () => oracle.correct(participantId, code, to, asksOf(by)),
    };
  };
const correct = fc
  .record({ by: users, participantId: ids, n: nth, to: fc.option(visits, { freq: 3 }) })
  .map(({ by, participantId, n, to }) => corrected(by, participantId, n, to));

const causes = fc.constantFrom('duplicate', 'never-enrolled', 'ineligible', 'other');
const voiding = step(fc.record({ id: ids, cause: causes }), ({ id, cause }) =>
  act('AllocationVoided', id, { cause, analysis: 'keep', note: 'a slip' }),
);
const wrong = step(byHand, (id) =>
  act('AllocationVoided', id, { cause: 'entry', analysis: 'exclude', note: 'wrong arm' }),
);
const reinstate = step(ids, (id) => act('AllocationReinstated', id, { note: 'a slip' }));
const transfer = step(fc.record({ id: ids, to: places }), ({ id, to }, oracle) => {
  const changes = [{ factor: SITE, from: oracle.find(id)?.level ?? '', to: oracle.level(to) }];
  return act('LevelsCorrected', id, { cause: 'transfer', note: 'moved', changes });
});
const anotherId = step(ids, (id) => act('ParticipantIdCorrected', id, { to: `${id} 2`, cause: 'entry' }));

const listed =
  (counts: readonly number[], place: string | null, key: string): VisitStep =>
  (oracle) => {
    const number = oracle.lists + 1;
    const arms = ARMS.flatMap((arm, i) => Array<string>(counts[i] ?? 0).fill(arm));
    const entries = arms.map((treatment, n) => ({ code: `L${number}-${(n * 7) % 31}`, treatment }));
    const where = place !== null && { where: { factor: SITE, level: oracle.level(place) } };
    return operator({ type: 'register-packs', list: number, key, entries, ...where });
  };
const keys = fc.stringMatching(/^[0-9a-f]{32}$/);
const few = fc.integer({ min: 1, max: 5 });
const list = fc
  .record({ counts: fc.tuple(few, fc.nat(5), fc.nat(5)), place: fc.option(places), key: keys })
  .map(({ counts, place, key }) => listed(counts, place, key));
/** Packs of one visit, one after the other, of which all but the last one were never theirs. */
const again = fc
  .record({ by: users, participantId: ids, times: fc.integer({ min: 2, max: 5 }), key: keys })
  .map(({ by, participantId, times, key }) => [
    listed([8, 8, 8], null, key),
    ...Array.from({ length: times }, (): VisitStep[] => [
      dispensed(by, participantId, 'V2'),
      (oracle, number) => {
        const had = oracle.find(participantId)?.had ?? [];
        const place = had.findIndex(({ visit }) => visit === 'V2');
        return corrected(by, participantId, place < 0 ? 9 : place, null)(oracle, number);
      },
    ]).flat(),
    dispensed(by, participantId, 'V2'),
  ]);
const withdraw = step(fc.record({ arm: fc.constantFrom(...ARMS), n: nth }), ({ arm, n }, oracle) => {
  const free = oracle.free(arm);
  const codes = [free[n % (free.length + 1)]?.code ?? 'none'];
  return operator({ act: 'CodesWithdrawn', user: 'operator', codes, reason: 'recalled', isSupply: true });
});

/** By hand: also again, after an entry of this id was voided as wrong. */
const entries = fc.record({ participantId: byHand, treatment: fc.constantFrom(...ARMS), n: nth });
const enter = step(entries, ({ participantId, treatment, n }, oracle) => {
  const wrong = oracle.people.get(participantId);
  const free = oracle.free(treatment, oracle.level('S'));
  const code = free[n % (free.length + 1)]?.code ?? null;
  return operator({
    ...{ type: 'force', user: 'operator', participantId, levels: [oracle.level('S')], treatment, code },
    ...{ cause: 'outage', occurredAt: '2026-03-01T10:00:00.500Z', note: 'envelope' },
    ...(wrong?.cause === 'entry' && { replaces: wrong.revision }),
  });
});

const change = fc.oneof(
  fc.subarray(['V2', 'V3', 'Week 12', 'U1', 'u1']).map((value): DesignChange => ({ kind: 'visits', value })),
  fc
    .constantFrom('arm-closed' as const, 'arm-stopped' as const, 'arm-reopened' as const)
    .map((kind): DesignChange => ({ kind, treatment: 'C' })),
);
const amend = (changes: readonly DesignChange[], amendment: number): Request =>
  operator({
    ...{ type: 'amend', user: 'operator', amendment, changes, reason: 'protocol 3' },
    approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-27' }],
  });
const amendment = step(change, (one, oracle, number) => ({
  ...amend([one], number),
  ...(one.kind === 'visits' && { isPossible: oracle.mayBecome(one.value) }),
}));
const rename = step(places, (place, oracle, number) => {
  const level = oracle.level(place);
  return amend([{ kind: 'level-renamed', factor: SITE, level, to: `${level}*` }], number);
});
const state = step(fc.constantFrom('StudyPaused' as const, 'StudyResumed' as const), (name) =>
  operator({ act: name, user: 'operator', reason: 'review' }),
);

const visitStep: fc.Arbitrary<VisitStep> = fc.oneof(
  { weight: 20, arbitrary: dispense },
  { weight: 10, arbitrary: correct },
  { weight: 10, arbitrary: replace },
  ...[enrol, reinstate, list, amendment, enter, wrong].map((arbitrary) => ({ weight: 3, arbitrary })),
  ...[voiding, transfer, anotherId, withdraw, rename, state].map((arbitrary) => ({ weight: 1, arbitrary })),
);

export const visitLife: fc.Arbitrary<readonly VisitStep[]> = fc
  .array(
    fc.oneof(
      { weight: 25, arbitrary: visitStep.map((one): readonly VisitStep[] => [one]) },
      { weight: 1, arbitrary: again },
    ),
    { maxLength: 50, size: 'max' },
  )
  .map((parts) => parts.flat());

/** A list with packs of every arm, and three participants. */
export const BEGINNING: readonly VisitStep[] = [
  () => {
    const entries = ARMS.flatMap((treatment, arm) =>
      Array.from({ length: 7 }, (_, n) => ({ code: `P-${((3 * n + arm) * 7) % 97}`, treatment })),
    );
    return operator({ type: 'register-packs', list: 1, key: '0f1e2d3c4b5a69788796a5b4c3d2e1f0', entries });
  },
  ...['a', 'b', 'Zoë 3'].map((id, n) => () => enrolled(id, n === 1 ? 'S' : 'N')),
];
