import { describe, expect, it } from 'vitest';
import type { AccessFact } from '../../../events/access.ts';
import type { Fact, StudyFact } from '../../../events/catalogue.ts';
import type { Protocol } from '../../../events/text.ts';
import { access } from '../../../projections/access.ts';
import { projectionOf, type Readable } from '../../../projections/projection.ts';
import { describeRecovery } from '../../../projections/study-config.ts';
import { studyState } from '../../../src/core/study/state.ts';
import { balance as balanceView, designs, participants, studyConfig } from '../../../src/core/study/views.ts';
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

function onArm(participantId: string, treatment: string, levels = LEVELS): StudyFact {
  const fact = randomized(participantId);
  return {
    ...fact,
    data: {
      participantId,
      levels: CONFIGURATION.factors.map(({ name }, i) => ({ factor: name, level: levels[i] ?? '' })),
    },
    sections: { ...fact.sections, allocation: { treatment } },
  };
}

describe('participants', () => {
  it('are empty before the first randomization', () => {
    const none = fold(participants, []);
    expect([none.inOrder, none.find('1')]).toEqual([[], undefined]);
    expect(fold(participants, [registered(), paused, resumed]).inOrder).toEqual([]);
  });

  it('are listed in the order of randomization, whatever their ids', () => {
    const list = fold(participants, [registered(), ...['9', '10', 'a', '1'].map((id) => randomized(id))]);
    expect(list.inOrder.map(({ participantId }) => participantId)).toEqual(['9', '10', 'a', '1']);
    for (const participant of list.inOrder) expect(list.find(participant.participantId)).toBe(participant);
  });

  it('show who was randomized, when, by whom, at which levels and to what', () => {
    const fact = randomized('001');
    expect(fold(participants, [registered(), fact]).inOrder).toEqual([
      {
        participantId: '001',
        levels: LEVELS,
        treatment: fact.sections.allocation.treatment,
        slot: CONFIGURATION.treatments.indexOf(fact.sections.allocation.treatment),
        at: AT,
        user: 'nurse',
        bgStateAfter: drawIn(fact.sections).bgStateAfter,
        revision: 1,
        sequence: 1,
      },
    ]);
  });

  it('may have ids that are built-in property names in JavaScript', () => {
    const ids = ['__proto__', 'constructor', 'toString'];
    const list = fold(participants, [registered(), ...ids.map((id) => randomized(id))]);
    expect(ids.map((id) => list.find(id)?.participantId)).toEqual(ids);
    expect(list.find('hasOwnProperty')).toBeUndefined();
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
  it('of a study that is not in the log is undefined', () => {
    expect(fold(studyConfig, [])).toBeUndefined();
  });

  it('is what was registered', () => {
    expect(fold(studyConfig, [registered()])).toEqual({
      studyId: STUDY_ID,
      configuration: CONFIGURATION,
      parameters: {},
      seed: String(SEED),
      seedSource: 'drawn',
      seedWeak: false,
      registeredAt: AT,
      recoveries: [],
      halt: undefined,
    });
  });

  it('says whether the study is paused, since when, and why', () => {
    expect(fold(studyConfig, [registered(), paused])?.halt).toEqual({
      state: 'paused',
      reason: 'data review',
      at: AT,
    });
    expect(fold(studyConfig, [registered(), paused, resumed])?.halt).toBeUndefined();
    expect(fold(studyConfig, [registered(), paused, resumed, paused])?.halt).toEqual({
      state: 'paused',
      reason: 'data review',
      at: AT,
    });
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

  it('is not changed by participants', () => {
    expect(fold(studyConfig, [registered(), randomized()])).toEqual(fold(studyConfig, [registered()]));
  });
});

describe('the balance', () => {
  const balance = (facts: readonly Fact[]) => fold(balanceView, facts)?.view();
  const zeros = {
    totals: [0, 0, 0],
    factors: [
      { factor: '10', levels: ['Male', 'Female'].map((level) => ({ level, counts: [0, 0, 0] })) },
      {
        factor: '9',
        levels: ['11-Cook County – Chicago', '30-Dupage County'].map((level) => ({
          level,
          counts: [0, 0, 0],
        })),
      },
    ],
  };

  it('is undefined for a study that is not in the log, and zero for one without participants', () => {
    expect(balance([])).toBeUndefined();
    expect(balance([registered()])).toEqual({
      treatments: ['MART', 'RMC-Q', 'RMC-A'],
      ...zeros,
      counted: zeros,
      voided: [0, 0, 0],
    });
  });

  it('counts participants by treatment, in total and at each level', () => {
    const facts = [
      registered(),
      onArm('1', 'MART', ['Male', '30-Dupage County']),
      onArm('2', 'RMC-A', ['Female', '30-Dupage County']),
      paused,
      onArm('3', 'RMC-A', ['Male', '11-Cook County – Chicago']),
    ];
    expect(balance(facts)).toMatchObject({
      totals: [1, 0, 2],
      factors: [
        { levels: [{ counts: [1, 0, 1] }, { counts: [0, 0, 1] }] },
        { levels: [{ counts: [0, 0, 1] }, { counts: [1, 0, 1] }] },
      ],
    });
  });

  it('is separate for each study', () => {
    const one = balance([registered(), onArm('1', 'MART')]);
    expect(balance([registered()])?.totals).toEqual([0, 0, 0]);
    expect(one?.totals).toEqual([1, 0, 0]);
  });
});

describe('access', () => {
  const issued = (keyId: string, sha256: string): AccessFact => ({
    type: 'ApiKeyIssued',
    data: { keyId, user: 'nurse', scopes: ['read'], studies: ['CHS JCOIN'] },
    sections: { credential: { sha256 } },
  });
  const [a, b] = ['aa'.repeat(32), 'bb'.repeat(32)];

  it('finds a key by its id and by its hash', () => {
    const { byId, bySha256 } = fold(access, [issued('k1', a), issued('k2', b)]);
    expect(bySha256).toEqual(
      new Map([
        [a, 'k1'],
        [b, 'k2'],
      ]),
    );
    expect(byId.get('k2')).toEqual({
      keyId: 'k2',
      user: 'nurse',
      scopes: ['read'],
      studies: ['CHS JCOIN'],
      issuedAt: AT,
    });
  });

  it('keeps a revoked key, with the time and reason of its revocation', () => {
    const revoke = (reason?: string): AccessFact => ({
      type: 'ApiKeyRevoked',
      data: { keyId: 'k1', ...(reason && { reason }) },
      sections: {},
    });
    const { byId, bySha256 } = fold(access, [issued('k1', a), issued('k2', b), revoke('left the site')]);
    expect(byId.get('k1')?.revoked).toEqual({ at: AT, reason: 'left the site' });
    expect(byId.get('k2')?.revoked).toBeUndefined();
    expect(bySha256.get(a)).toBe('k1');
    expect(fold(access, [issued('k1', a), revoke()]).byId.get('k1')?.revoked).toEqual({ at: AT });
  });
});
