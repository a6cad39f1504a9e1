import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { decide } from '../../../src/core/study/decide.ts';
import { evolve, fork, type StudyState, studyState } from '../../../src/core/study/state.ts';
import { writtenDecider } from '../../support/acts.ts';
import { participant, study } from '../../support/arbitrary-study.ts';
import {
  CONFIGURATION,
  event,
  LEVELS,
  NURSE,
  paused,
  REGISTER,
  randomize,
  randomized,
  registered,
  resumed,
} from '../../support/facts.ts';
import { sentences } from '../../support/given.ts';
import { check } from '../../support/property.ts';
import { drawIn } from '../../support/urn-study.ts';
import { referenceHistories } from '../../support/vectors.ts';

const given = sentences(writtenDecider, studyState.initial);
const DOCTOR = { ...NURSE, user: 'doctor' };

const PAUSE = { act: 'StudyPaused', user: 'operator', reason: 'data review' } as const;
const RESUME = { act: 'StudyResumed', user: 'operator', reason: 'review done' } as const;

/** A participant with the levels that `randomize` sends, without an idempotency key. */
function enrolled(participantId: string, idempotencyKey?: string): StudyFact {
  const fact = randomized(participantId);
  const { request: _, ...sections } = fact.sections;
  return {
    ...fact,
    sections: { ...sections, ...(idempotencyKey !== undefined && { request: { idempotencyKey } }) },
  };
}

describe('a study that is not yet in the log', () => {
  it('is registered, with the first generator state from its seed', () => {
    given([]).when(REGISTER).then([registered()], { type: 'registered' });
  });

  it('accepts no other command', () => {
    for (const command of [randomize('001'), PAUSE, RESUME])
      given([]).when(command).then([], { type: 'not-registered' });
  });

  it.each([
    [0n, true],
    [100n, true],
    [2n ** 96n - 1n, true],
    [2n ** 96n, false],
    [2n ** 200n, false],
  ])('is registered with the seed %d as weak: %s', (seed, seedWeak) => {
    const fact = registered();
    given([])
      .when({ ...REGISTER, seed, seedSource: 'configured' })
      .then(
        [
          {
            ...fact,
            data: { ...fact.data, seedSource: 'configured', seedWeak },
            sections: { generator: { seed: `${seed}`, bgState: Pcg64.fromSeed(seed).snapshot() } },
          },
        ],
        { type: 'registered' },
      );
  });
});

describe('a registered study', () => {
  it('is not registered again, whatever the second registration says', () => {
    const other = { ...REGISTER, configuration: { ...CONFIGURATION, treatments: ['A', 'B'] } };
    for (const history of [[registered()], [registered(), paused], [registered(), enrolled('001')]])
      for (const command of [REGISTER, other])
        given(history).when(command).then([], { type: 'already-registered' });
  });

  it('is paused, and resumed', () => {
    given([registered()])
      .when(PAUSE)
      .then([paused], { type: 'recorded', moves: false, data: expect.any(Object) });
    given([registered(), paused])
      .when(RESUME)
      .then([resumed], { type: 'recorded', moves: false, data: expect.any(Object) });
    given([registered(), paused, resumed])
      .when(PAUSE)
      .then([paused], { type: 'recorded', moves: false, data: expect.any(Object) });
  });

  it('is not paused twice, nor resumed when it is not paused', () => {
    given([registered(), paused])
      .when(PAUSE)
      .then([], { type: 'already', why: 'the study is paused already' });
    given([registered()]).when(RESUME).then([], { type: 'already', why: 'the study is not paused' });
    given([registered(), paused, resumed])
      .when(RESUME)
      .then([], { type: 'already', why: 'the study is not paused' });
  });
});

describe('a new participant', () => {
  it('is allocated from the generator’s first state, with the evidence of the draw', () => {
    given([registered()])
      .when(randomize('001', { idempotencyKey: 'visit-7' }))
      .then([randomized('001')], { type: 'randomized', participantId: '001' });
  });

  it('records no request if no idempotency key was given', () => {
    given([registered()])
      .when(randomize('001'))
      .then([enrolled('001')], { type: 'randomized', participantId: '001' });
  });

  it('is allocated from the generator state left by the previous one, and counts earlier participants', () => {
    const first = randomized('001');
    const state = fold([registered(), first]);
    const { fact } = decide(state, randomize('002'));
    expect(fact).toMatchObject({
      type: 'ParticipantRandomized',
      data: {
        participantId: '002',
        levels: [
          { factor: '10', level: LEVELS[0] },
          { factor: '9', level: LEVELS[1] },
        ],
      },
      sections: {
        draw: {
          bgStateBefore: drawIn(first.sections).bgStateAfter,
          counts: CONFIGURATION.treatments.map((treatment) =>
            treatment === first.sections.allocation.treatment ? 1 : 0,
          ),
        },
      },
    });
  });

  it('is refused while the study is paused, and accepted after it is resumed', () => {
    given([registered(), paused]).when(randomize('001')).then([], { type: 'refused', because: 'paused' });
    given([registered(), paused, resumed])
      .when(randomize('001'))
      .then([enrolled('001')], { type: 'randomized', participantId: '001' });
  });

  it('is refused while the study is suspended', () => {
    given([registered()])
      .when(randomize('001', { suspended: true }))
      .then([], { type: 'refused', because: 'suspended' });
  });

  it('is never allocated with a level that the study does not have', () => {
    for (const levels of [['Neither', LEVELS[1] ?? ''], []])
      given([registered()])
        .when(randomize('001', { levels }))
        .then([], {
          type: 'level-unknown',
          factor: CONFIGURATION.factors[0]?.name ?? '',
          level: levels[0] ?? '',
        });
  });
});

describe('a participant id that is already taken', () => {
  it('makes a duplicate if the levels are the same', () => {
    given([registered(), enrolled('001')])
      .when(randomize('001'))
      .then([], { type: 'duplicate', participantId: '001', differingFactors: [] });
  });

  it('makes a duplicate that names the differing factors', () => {
    const duplicate = { type: 'duplicate', participantId: '001' } as const;
    given([registered(), enrolled('001')])
      .when(randomize('001', { levels: ['Male', '30-Dupage County'] }))
      .then([], { ...duplicate, differingFactors: ['10'] });
    given([registered(), enrolled('001')])
      .when(randomize('001', { levels: ['Male', '11-Cook County – Chicago'] }))
      .then([], { ...duplicate, differingFactors: ['10', '9'] });
  });

  it('is compared code point by code point', () => {
    for (const other of ['1', '0001', '001 ', 'é', 'e\u0301'])
      given([registered(), enrolled('001')])
        .when(randomize(other))
        .then([decide(fold([registered(), enrolled('001')]), randomize(other)).fact as StudyFact], {
          type: 'randomized',
          participantId: other,
        });
  });
});

describe('an idempotency key', () => {
  const history = [registered(), enrolled('001', 'k')];

  it('makes the same request a repetition', () => {
    given(history)
      .when(randomize('001', { idempotencyKey: 'k' }))
      .then([], { type: 'repeated', participantId: '001' });
  });

  it('is refused with another id or with other levels', () => {
    for (const other of [randomize('002'), randomize('001', { levels: ['Male', '30-Dupage County'] })])
      given(history)
        .when({ ...other, idempotencyKey: 'k' })
        .then([], { type: 'idempotency-key-reused' });
  });

  it('belongs to one user: the same key from another user is a different key', () => {
    given(history)
      .when(randomize('001', { idempotencyKey: 'k', user: 'doctor' }))
      .then([], { type: 'duplicate', participantId: '001', differingFactors: [] });
    given([registered(), { by: DOCTOR, fact: enrolled('001', 'k') }])
      .when(randomize('001', { idempotencyKey: 'k', user: 'doctor' }))
      .then([], { type: 'repeated', participantId: '001' });
  });

  it('cannot collide with another user’s key by concatenation with the user’s name', () => {
    const glued = { by: { ...NURSE, user: 'a' }, fact: enrolled('001', 'b","c') };
    given([registered(), glued])
      .when(randomize('001', { user: 'a","b', idempotencyKey: 'c' }))
      .then([], { type: 'duplicate', participantId: '001', differingFactors: [] });
  });

  it('is used up only by success: a refused request leaves it free', () => {
    const refused = decide(fold([registered(), paused]), randomize('001', { idempotencyKey: 'k' }));
    expect(refused.fact).toBeUndefined();
    given([registered(), paused, resumed])
      .when(randomize('002', { idempotencyKey: 'k' }))
      .then([{ ...enrolled('002', 'k') }], { type: 'randomized', participantId: '002' });
  });

  it('is not used up by a duplicate either', () => {
    given([registered(), enrolled('001')])
      .when(randomize('001', { idempotencyKey: 'k' }))
      .then([], { type: 'duplicate', participantId: '001', differingFactors: [] });
  });
});

describe('if several answers are possible,', () => {
  const everything = [registered(), enrolled('001', 'k'), enrolled('002'), paused];
  const suspended = { suspended: true };

  it('the idempotency key comes first', () => {
    given(everything)
      .when(randomize('001', { ...suspended, idempotencyKey: 'k' }))
      .then([], { type: 'repeated', participantId: '001' });
    given(everything)
      .when(randomize('002', { ...suspended, idempotencyKey: 'k' }))
      .then([], { type: 'idempotency-key-reused' });
  });

  it('then a taken id', () => {
    given(everything)
      .when(randomize('002', { ...suspended, idempotencyKey: 'new' }))
      .then([], { type: 'duplicate', participantId: '002', differingFactors: [] });
  });

  it('then a pause of the study', () => {
    given(everything).when(randomize('003', suspended)).then([], { type: 'refused', because: 'paused' });
  });

  it('then its suspension', () => {
    given([registered(), enrolled('001', 'k')])
      .when(randomize('003', suspended))
      .then([], { type: 'refused', because: 'suspended' });
  });
});

describe('the fold', () => {
  it('refuses a study that does not begin with its registration', () => {
    for (const fact of [paused, resumed, randomized()])
      expect(() => fold([fact])).toThrow('comes before StudyRegistered');
  });

  it('refuses a second registration', () => {
    expect(() => fold([registered(), registered()])).toThrow('registered twice');
  });

  it('refuses a participant randomized twice', () => {
    expect(() => fold([registered(), enrolled('001'), enrolled('001')])).toThrow('randomized twice');
  });

  it('refuses a treatment or a level that the study does not have', () => {
    const fact = randomized();
    const otherArm = { ...fact, sections: { ...fact.sections, allocation: { treatment: 'another' } } };
    const otherLevel = { ...fact, data: { ...fact.data, levels: [{ factor: '10', level: 'Neither' }] } };
    expect(() => fold([registered(), otherArm])).toThrow(RangeError);
    expect(() => fold([registered(), otherLevel])).toThrow(RangeError);
  });
});

describe('a fork', () => {
  it('can be evolved and discarded without changing its original', () => {
    check(
      fc.property(
        study.chain((configuration) =>
          fc.record({
            configuration: fc.constant(configuration),
            kept: fc.array(participant(configuration), { maxLength: 8 }),
            dropped: fc.array(participant(configuration), { maxLength: 8 }),
          }),
        ),
        ({ configuration, kept, dropped }) => {
          const command = (prefix: string) => (indexes: number[], i: number) =>
            randomize(`${prefix}${i}`, {
              levels: configuration.factors.map(({ levels }, factor) => levels[indexes[factor] ?? 0] ?? ''),
              idempotencyKey: `${prefix}${i}`,
            });
          const register = { ...REGISTER, configuration };
          const one = play([register, ...kept.map(command('kept'))]);
          const two = play([register, ...kept.map(command('kept'))]);
          play(dropped.map(command('dropped')), fork(two));
          const next = randomize('next', {
            levels: configuration.factors.map(({ levels }) => levels[0] ?? ''),
          });
          expect(decide(two, next)).toEqual(decide(one, next));
          expect(decide(two, { ...next, participantId: 'dropped0', idempotencyKey: 'dropped0' })).toEqual(
            decide(one, { ...next, participantId: 'dropped0', idempotencyKey: 'dropped0' }),
          );
        },
      ),
    );
  });
});

describe('the histories of the reference implementation', () => {
  it.each(referenceHistories().map((history) => ({ name: history.configuration.name, ...history })))(
    'are reproduced, command by command: $name',
    ({ configuration, seed, participants }) => {
      const register = { ...REGISTER, configuration, seed, seedSource: 'configured' as const };
      const commands = participants.map(({ levelIndexes }, i) =>
        randomize(`${i}`, {
          levels: configuration.factors.map(({ levels }, factor) => levels[levelIndexes[factor] ?? -1] ?? ''),
        }),
      );
      const facts: StudyFact[] = [];
      play([register, ...commands], studyState.initial(), (fact) => facts.push(fact));
      const allocations = facts.flatMap((fact) =>
        fact.type === 'ParticipantRandomized' ? [fact.sections] : [],
      );
      expect(allocations.map(({ allocation, draw }) => [allocation.treatment, draw?.bgStateAfter])).toEqual(
        participants.map(({ treatment, bgStateAfter }) => [treatment, bgStateAfter]),
      );
    },
  );
});

function fold(facts: readonly StudyFact[]): StudyState {
  return facts.reduce((state, fact, revision) => evolve(state, event(fact, revision)), studyState.initial());
}

/** Decides commands in turn, each on the state left by the one before. */
function play(
  commands: readonly Parameters<typeof decide>[1][],
  from = studyState.initial(),
  onFact?: (fact: StudyFact) => void,
): StudyState {
  return commands.reduce((state, command, i) => {
    const { fact } = decide(state, command);
    if (!fact) return state;
    onFact?.(fact);
    return evolve(state, event(fact, i));
  }, from);
}
