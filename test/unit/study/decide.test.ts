import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import type { StudyOutcome } from '../../../src/core/model/outcomes.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import type { StudyCommand } from '../../../src/core/study/commands.ts';
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

const given = sentences(writtenDecider, studyState.initial);
const DOCTOR = { ...NURSE, user: 'doctor' };

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

  it.each([
    [2n ** 96n - 1n, true],
    [2n ** 96n, false],
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

const ONE = [registered(), enrolled('001')];
const duplicate = (...differingFactors: string[]) =>
  ({ type: 'duplicate', participantId: '001', differingFactors }) as const;
const randomizedNow = (participantId: string) => ({ type: 'randomized', participantId }) as const;
const REUSED = { type: 'idempotency-key-reused' } as const;
const REPEATED = { type: 'repeated', participantId: '001' } as const;
const PAUSED = { type: 'refused', because: 'paused' } as const;

describe('a new participant', () => {
  it('is allocated from the generator’s first state, with the evidence of the draw', () => {
    given([registered()])
      .when(randomize('001', { idempotencyKey: 'visit-7' }))
      .then([randomized('001')], randomizedNow('001'));
  });

  it('records no request if no idempotency key was given, and comes after a pause, too', () => {
    for (const history of [[registered()], [registered(), paused, resumed]])
      given(history)
        .when(randomize('001'))
        .then([enrolled('001')], randomizedNow('001'));
  });

  it('is allocated from the generator state left by the previous one, and counts earlier participants', () => {
    const first = randomized('001');
    const { fact } = decide(fold([registered(), first]), randomize('002'));
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
          counts: CONFIGURATION.treatments.map((arm) => Number(arm === first.sections.allocation.treatment)),
        },
      },
    });
  });

  it('has an id that is compared code point by code point', () => {
    for (const other of ['1', '0001', '001 ', 'é', 'e\u0301'])
      given(ONE)
        .when(randomize(other))
        .then([decide(fold(ONE), randomize(other)).fact as StudyFact], randomizedNow(other));
  });

  it('may have an idempotency key that only a refused request had', () => {
    expect(decide(fold([registered(), paused]), randomize('001', { idempotencyKey: 'k' }))).toEqual({
      outcome: PAUSED,
    });
    given([registered(), paused, resumed])
      .when(randomize('002', { idempotencyKey: 'k' }))
      .then([enrolled('002', 'k')], randomizedNow('002'));
  });
});

describe('nobody is randomized', () => {
  const KEYED = [registered(), enrolled('001', 'k')];
  const ALL = [...KEYED, enrolled('002'), paused];
  const OTHER_ARMS = { ...REGISTER, configuration: { ...CONFIGURATION, treatments: ['A', 'B'] } };
  const GLUED = { by: { ...NURSE, user: 'a' }, fact: enrolled('001', 'b","c') };
  const MALE = { levels: ['Male', '30-Dupage County'] };
  const suspended = { suspended: true };

  const SUSPENDED = { type: 'refused', because: 'suspended' } as const;
  const ALREADY = { type: 'already-registered' } as const;
  const unknown = (level: string) => ({ type: 'level-unknown', factor: '10', level }) as const;
  const COOK = '11-Cook County – Chicago';
  const [NEW, HALTED] = [[registered()], [registered(), paused]];
  const BY_DOCTOR = [registered(), { by: DOCTOR, fact: enrolled('001', 'k') }];
  const again = (more: object, participantId = '001') =>
    randomize(participantId, { idempotencyKey: 'k', ...more });

  it.each<[string, Parameters<typeof given>[0], StudyCommand, StudyOutcome]>([
    ['before the registration', [], randomize('001'), { type: 'not-registered' }],
    ['by another registration', NEW, REGISTER, ALREADY],
    ['by a registration of something else', HALTED, OTHER_ARMS, ALREADY],
    ['in a paused study', HALTED, randomize('001'), PAUSED],
    ['in a suspended study', NEW, randomize('001', suspended), SUSPENDED],
    ['with an unknown level', NEW, randomize('001', { levels: ['Neither', COOK] }), unknown('Neither')],
    ['without levels', NEW, randomize('001', { levels: [] }), unknown('')],
    ['twice', ONE, randomize('001'), duplicate()],
    ['twice, with another level', ONE, randomize('001', MALE), duplicate('10')],
    ['twice, with other levels', ONE, randomize('001', { levels: ['Male', COOK] }), duplicate('10', '9')],
    ['twice, whatever the key', ONE, again({}), duplicate()],
    ['again by the same request', KEYED, again({}), REPEATED],
    ['by the key of another id', KEYED, again({}, '002'), REUSED],
    ['by the key of other levels', KEYED, again(MALE), REUSED],
    ['by the key of another user, which is a different key', KEYED, again({ user: 'doctor' }), duplicate()],
    ['again by the same request of the other user', BY_DOCTOR, again({ user: 'doctor' }), REPEATED],
    [
      'by a key that is glued to the name of its user',
      [registered(), GLUED],
      randomize('001', { user: 'a","b', idempotencyKey: 'c' }),
      duplicate(),
    ],
    // If several answers are possible, the idempotency key comes first, then a taken id, a pause, a suspension.
    ['first: repeated', ALL, again(suspended), REPEATED],
    ['first: the key of another', ALL, again(suspended, '002'), REUSED],
    ['second: taken', ALL, randomize('001', suspended), duplicate()],
    ['third: paused', ALL, randomize('003', suspended), PAUSED],
    ['fourth: suspended', KEYED, randomize('003', suspended), SUSPENDED],
  ])('%s', (_, history, command, outcome) => {
    given(history).when(command).then([], outcome);
  });
});

describe('the fold refuses', () => {
  const fact = randomized();
  const elsewhere = { ...fact, sections: { ...fact.sections, allocation: { treatment: 'another' } } };
  const nowhere = { ...fact, data: { ...fact.data, levels: [{ factor: '10', level: 'Neither' }] } };
  it.each<[string, readonly StudyFact[], string | typeof RangeError]>([
    ['a study that does not begin with its registration', [paused], 'comes before StudyRegistered'],
    ['a participant before the registration', [randomized()], 'comes before StudyRegistered'],
    ['a second registration', [registered(), registered()], 'registered twice'],
    ['a participant twice', [registered(), enrolled('001'), enrolled('001')], 'randomized twice'],
    ['a treatment that the study does not have', [registered(), elsewhere], RangeError],
    ['a level that the study does not have', [registered(), nowhere], RangeError],
  ])('%s', (_, facts, why) => {
    expect(() => fold(facts)).toThrow(why);
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

function fold(facts: readonly StudyFact[]): StudyState {
  return facts.reduce((state, fact, revision) => evolve(state, event(fact, revision)), studyState.initial());
}

/** Decides commands in turn, each on the state left by the one before. */
function play(commands: readonly Parameters<typeof decide>[1][], from = studyState.initial()): StudyState {
  return commands.reduce((state, command, i) => {
    const { fact } = decide(state, command);
    return fact ? evolve(state, event(fact, i)) : state;
  }, from);
}
