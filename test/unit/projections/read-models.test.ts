import { describe, expect, it } from 'vitest';
import type { AccessFact } from '../../../events/access.ts';
import type { Fact, StudyFact } from '../../../events/catalogue.ts';
import { VoidCause } from '../../../events/corrections.ts';
import type { Protocol } from '../../../events/define.ts';
import { access } from '../../../projections/access.ts';
import { projectionOf, type Readable } from '../../../projections/runner.ts';
import { endedSessions } from '../../../projections/sessions.ts';
import { describeRecovery } from '../../../src/core/model/model.ts';
import type { Enrolled } from '../../../src/core/model/participants.ts';
import { headCount } from '../../../src/core/model/participants.ts';
import { balance, designs, participants, studyConfig, studyState } from '../../../src/core/study/fold.ts';
import {
  CONFIGURATION,
  event,
  LEVELS,
  OPERATOR,
  paused,
  randomized,
  registered,
  resumed,
  SEED,
  STUDY_ID,
} from '../../support/facts.ts';
import { folded } from '../../support/folded.ts';
import { drawIn } from '../../support/urn-study.ts';

/** When `event` says that the fact of a revision was written. */
const AT = '2026-03-01T09:00:00.000Z';

function fold<S>(readable: Readable<S>, facts: readonly Fact[]): S {
  const actor = projectionOf(readable).stream === 'access' ? OPERATOR : undefined;
  return folded(
    readable,
    facts.map((fact, revision) => event(fact, revision, actor && { actor })),
  );
}

describe('participants', () => {
  it('are listed in the order of randomization, whatever their ids, even names of properties', () => {
    expect(fold(participants, [registered(), paused, resumed]).inOrder).toEqual([]);
    const ids = ['9', '10', 'a', '1', '__proto__', 'constructor', 'toString'];
    const list = fold(participants, [registered(), ...ids.map((id) => randomized(id))]);
    expect(list.inOrder.map(({ participantId }) => participantId)).toEqual(ids);
    for (const participant of list.inOrder) expect(list.find(participant.participantId)).toBe(participant);
    expect(list.find('hasOwnProperty')).toBeUndefined();
  });

  it('show who was randomized, when, by whom, at which levels and to what', () => {
    const fact = randomized('001');
    const { treatment } = fact.sections.allocation;
    expect(fold(participants, [registered(), fact]).inOrder).toEqual([
      {
        ...{ participantId: '001', levels: LEVELS, treatment, at: AT, user: 'nurse' },
        ...{ revision: 1, sequence: 1 },
        slot: CONFIGURATION.treatments.indexOf(treatment),
        bgStateAfter: drawIn(fact.sections).bgStateAfter,
      },
    ]);
  });
});

describe('the designs of a study', () => {
  const added: StudyFact = {
    type: 'StudyAmended',
    data: {
      ...{ amendment: 1, approvals: [], history: 'keep', reason: 'a third one' },
      changes: [{ kind: 'level-added', factor: '10', level: 'Other' }],
    },
    sections: {},
  };
  const reopened = (protocol?: Protocol): StudyFact => {
    const data = { approvals: [], ...(protocol && { protocol }), reason: 'x' };
    return { type: 'StudyReopened', data, sections: {} };
  };

  it('are that of the registration, and one more after each amendment or new protocol', () => {
    const all = fold(designs, [registered(), added, reopened({ version: '2.0' })]);
    expect(all.map(({ amendment, protocol }) => [amendment, protocol?.version])).toEqual([
      [0, undefined],
      [1, undefined],
      [1, '2.0'],
    ]);
    expect(all.map(({ factors }) => factors[0]?.levels.length)).toEqual([2, 3, 3]);
  });

  it('stay the same list after every other event, so that what follows from them is worked out once', () => {
    const after = [registered(), added].map((fact, revision) => event(fact, revision));
    let state = after.reduce(studyState.apply, studyState.initial());
    const before = designs.select(state);
    for (const fact of [randomized(), paused, resumed, reopened()]) {
      state = studyState.apply(state, event(fact, 2));
      expect(designs.select(state)).toBe(before);
    }
  });
});

describe('the configuration', () => {
  it('is what was registered, whoever is randomized', () => {
    expect(fold(studyConfig, [])).toBeUndefined();
    expect(fold(studyConfig, [registered(), randomized()])).toEqual({
      ...{ studyId: STUDY_ID, configuration: CONFIGURATION, parameters: {} },
      ...{ seed: String(SEED), seedSource: 'drawn', seedWeak: false },
      ...{ registeredAt: AT, recoveries: [], halt: undefined },
    });
  });

  it('says whether the study is paused, since when, and why', () => {
    const halt = { state: 'paused', reason: 'data review', at: AT };
    const haltOf = (...facts: Fact[]) => fold(studyConfig, [registered(), ...facts])?.halt;
    expect([haltOf(paused), haltOf(paused, resumed)]).toEqual([halt, undefined]);
    expect(haltOf(paused, resumed, paused)).toEqual(halt);
  });

  it('describes recoveries, also in words', () => {
    const bgState = registered().sections.generator.bgState;
    const recovered = (recovery: number, kept: number, size?: number): StudyFact => ({
      type: 'StudyRecovered',
      data: { recovery, kept, ...(size && { signed: { recovery: 0, size, root: `${'A'.repeat(43)}=` } }) },
      sections: { generator: { seed: '7', bgState } },
    });
    const told = fold(studyConfig, [registered(), recovered(1, 1, 4), recovered(3, 2)])?.recoveries ?? [];
    expect(told).toEqual([
      { recovery: 1, at: AT, kept: 1, signed: 4 },
      { recovery: 3, at: AT, kept: 2, signed: undefined },
    ]);
    expect(told.map(describeRecovery)).toEqual([
      `recovery 1 of the log, ${AT}: at least 3 records after the first 1 were lost; the generator began anew`,
      `recovery 3 of the log, ${AT}: no record of this study is known to be lost; the generator began anew`,
    ]);
  });
});

it('the balance is undefined for a study that is not in the log, and zero for one without participants', () => {
  expect(fold(balance, [])).toBeUndefined();
  const { treatments, factors } = CONFIGURATION;
  const voided = [0, 0, 0];
  const zerosOf = ({ name, levels }: (typeof factors)[number]) => ({
    factor: name,
    levels: levels.map((level) => ({ level, counts: [0, 0, 0] })),
  });
  const zeros = { totals: [0, 0, 0], factors: factors.map(zerosOf) };
  expect(fold(balance, [registered()])?.view()).toEqual({ treatments, ...zeros, counted: zeros, voided });
});

it('access finds a key by its id and by its hash, and keeps a revoked one, with the time and reason of that', () => {
  const issued = (keyId: string, sha256: string): AccessFact => ({
    type: 'ApiKeyIssued',
    data: { keyId, user: 'nurse', scopes: ['read'], studies: ['CHS JCOIN'] },
    sections: { credential: { sha256 } },
  });
  const [a, b] = ['aa'.repeat(32), 'bb'.repeat(32)];
  const revoke = (reason?: string): AccessFact => ({
    type: 'ApiKeyRevoked',
    data: { keyId: 'k1', ...(reason && { reason }) },
    sections: {},
  });
  const { byId, bySha256 } = fold(access, [issued('k1', a), issued('k2', b), revoke('left the site')]);
  expect(byId.get('k1')?.revoked).toEqual({ at: AT, reason: 'left the site' });
  expect(byId.get('k2')).toEqual({
    ...{ keyId: 'k2', user: 'nurse', scopes: ['read'], studies: ['CHS JCOIN'], issuedAt: AT },
  });
  expect(Object.fromEntries(bySha256)).toEqual({ [a]: 'k1', [b]: 'k2' });
  expect(fold(access, [issued('k1', a), revoke()]).byId.get('k1')?.revoked).toEqual({ at: AT });
});

function enrolledWith(cause?: VoidCause): Enrolled {
  const enrolled = { participantId: '1', levels: ['a'], revision: 1 };
  if (cause === undefined) return enrolled;
  const voided = { revision: 2, cause, isRemoved: false, duplicateOf: undefined };
  return { ...enrolled, corrected: { id: '1', levels: ['a'], countedLevels: ['a'], voided } };
}

describe('headCount', () => {
  it('says of each cause of a void whether the place is free again', () => {
    const filled = VoidCause.options.map((cause) => [cause, headCount([enrolledWith(cause)]).filled]);
    const expected = { ineligible: 1, duplicate: 0, 'never-enrolled': 0, entry: 1, other: 1 };
    expect(Object.fromEntries(filled)).toEqual(expected);
  });

  it('counts everybody, and of them the voided and the places', () => {
    const all = [undefined, 'duplicate', undefined, 'ineligible', 'never-enrolled'] as const;
    expect(headCount(all.map((cause) => enrolledWith(cause)))).toEqual({ enrolled: 5, voided: 3, filled: 3 });
    expect(headCount([])).toEqual({ enrolled: 0, voided: 0, filled: 0 });
  });
});

const HOUR = 3_600_000;
const START = Date.parse('2026-11-23T00:00:00.000Z');
const id = (n: number) => Buffer.alloc(16, n).toString('base64url');

/** Folds facts, each with the hours since the start at which it was written. */
function foldedAt(facts: readonly (readonly [number, Fact])[]) {
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
    const state = foldedAt([began(1), began(2), ended(1), paused].map((fact, hours) => [hours, fact]));
    expect([...state]).toEqual([[id(1), START + 2 * HOUR]]);
  });

  it('are forgotten when they would be over anyway, by the time of the events', () => {
    const first = [0, ended(1)] as const;
    expect([...foldedAt([first, [12, ended(2)]]).keys()]).toEqual([id(1), id(2)]);
    expect([...foldedAt([first, [12.1, ended(2)]]).keys()]).toEqual([id(2)]);
  });

  it('stay few, however many there were', () => {
    expect(foldedAt(Array.from({ length: 250 }, (_, n) => [n, ended(n)])).size).toBe(13);
  });
});
