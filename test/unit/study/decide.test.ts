import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import type { StudyOutcome } from '../../../src/core/model/outcomes.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import type { Randomize, StudyCommand } from '../../../src/core/study/commands.ts';
import { decide, studyDecider } from '../../../src/core/study/decide.ts';
import { evolve, studyState } from '../../../src/core/study/fold.ts';
import { writtenDecider } from '../../support/acts.ts';
import {
  ASKED,
  CONFIGURATION,
  event,
  NURSE,
  paused,
  REGISTER,
  randomize,
  randomized,
  registered,
  resumed,
} from '../../support/facts.ts';
import { sentences } from '../../support/given.ts';
import { TrialRun } from '../../support/trial-run.ts';

const given = sentences(writtenDecider, studyState.initial);

/** A participant with the levels that `randomize` sends, without an idempotency key unless one is given. */
function enrolled(participantId: string, idempotencyKey?: string): StudyFact {
  const fact = randomized(participantId);
  const { request: _, ...sections } = fact.sections;
  return { ...fact, sections: { ...sections, ...(idempotencyKey && { request: { idempotencyKey } }) } };
}

it('a study is registered with the first generator state from its seed, which is weak below 2^96', () => {
  given([]).when(REGISTER).then([registered()], { type: 'registered' });
  for (const [seed, seedWeak] of [
    [2n ** 96n - 1n, true],
    [2n ** 96n, false],
  ] as const) {
    const { fact } = decide(studyState.initial(), { ...REGISTER, seed, seedSource: 'configured' }, ASKED);
    expect(fact?.data).toMatchObject({ seedSource: 'configured', seedWeak });
    const generator = { seed: `${seed}`, bgState: Pcg64.fromSeed(seed).snapshot() };
    expect(fact?.sections).toEqual({ generator });
  }
});

const [NEW, HALTED] = [[registered()], [registered(), paused]];
const ONE = [registered(), enrolled('001')];
const duplicate = (...differingFactors: string[]) =>
  ({ type: 'duplicate', participantId: '001', differingFactors }) as const;
const REUSED = { type: 'idempotency-key-reused' } as const;
const REPEATED = { type: 'repeated', participantId: '001' } as const;
const PAUSED = { type: 'refused', because: 'paused' } as const;
const again = (more: Partial<Randomize>, participantId = '001') =>
  randomize(participantId, { idempotencyKey: 'k', ...more });

describe('a new participant', () => {
  it('is allocated from the generator’s first state, with the evidence of the draw, after a pause, too', () => {
    const outcome = { type: 'randomized', participantId: '001' } as const;
    given(NEW)
      .when(again({}))
      .then([enrolled('001', 'k')], outcome);
    // A key that only a refused request had is free.
    given(HALTED).when(again({})).then([], PAUSED);
    const history = [...HALTED, resumed];
    given(history)
      .when(again({}))
      .then([enrolled('001', 'k')], outcome);
    given(history)
      .when(randomize('001'))
      .then([enrolled('001')], outcome);
  });

  it('has an id that is compared code point by code point', () => {
    const trial = new TrialRun();
    const ids = ['001', '1', '0001', '001 ', 'é', 'e\u0301'];
    expect(trial.all(ids.map((id) => randomize(id)))).toEqual(ids.map(() => 'randomized'));
  });
});

const KEYED = [registered(), enrolled('001', 'k')];
const ALL = [...KEYED, enrolled('002'), paused];
const OTHER_ARMS = { ...REGISTER, configuration: { ...CONFIGURATION, treatments: ['A', 'B'] } };
const GLUED = [registered(), { by: { ...NURSE, user: 'a' }, fact: enrolled('001', 'b","c') }];
const BY_DOCTOR = [registered(), { by: { ...NURSE, user: 'doctor' }, fact: enrolled('001', 'k') }];
const COOK = '11-Cook County – Chicago';
const MALE = { levels: ['Male', '30-Dupage County'] };
const suspended = { suspended: true };
const SUSPENDED = { type: 'refused', because: 'suspended' } as const;
const ALREADY = { type: 'already-registered' } as const;
const unknown = (level: string) => ({ type: 'level-unknown', factor: '10', level }) as const;

it.each<[string, Parameters<typeof given>[0], StudyCommand, StudyOutcome]>([
  ['by a registration of something else', HALTED, OTHER_ARMS, ALREADY],
  ['with an unknown level', NEW, randomize('001', { levels: ['Neither', COOK] }), unknown('Neither')],
  ['without levels', NEW, randomize('001', { levels: [] }), unknown('')],
  ['twice, with another level', ONE, randomize('001', MALE), duplicate('10')],
  ['twice, with other levels', ONE, randomize('001', { levels: ['Male', COOK] }), duplicate('10', '9')],
  ['twice, whatever the key', ONE, again({}), duplicate()],
  ['by the key of other levels', KEYED, again(MALE), REUSED],
  ['by the key of another user, which is a different key', KEYED, again({ user: 'doctor' }), duplicate()],
  ['again by the same request of the other user', BY_DOCTOR, again({ user: 'doctor' }), REPEATED],
  ['by glued key and user', GLUED, again({ user: 'a","b', idempotencyKey: 'c' }), duplicate()],
  // If several answers are possible, the idempotency key comes first, then a taken id, a pause, a suspension.
  ['first: repeated', ALL, again(suspended), REPEATED],
  ['first: the key of another', ALL, again(suspended, '002'), REUSED],
  ['second: taken', ALL, randomize('001', suspended), duplicate()],
  ['third: paused', ALL, randomize('003', suspended), PAUSED],
  ['fourth: suspended', KEYED, randomize('003', suspended), SUSPENDED],
])('nobody is randomized %s', (_, history, command, outcome) => {
  given(history).when(command).then([], outcome);
});

const fact = randomized();
const elsewhere = { ...fact, sections: { ...fact.sections, allocation: { treatment: 'another' } } };
const nowhere = { ...fact, data: { ...fact.data, levels: [{ factor: '10', level: 'Neither' }] } };
it.each<[string, readonly StudyFact[], string | typeof RangeError]>([
  ['a study that does not begin with its registration', [paused], 'comes before StudyRegistered'],
  ['a participant before the registration', [randomized()], 'comes before StudyRegistered'],
  ['a second registration', [registered(), registered()], 'registered twice'],
  ['a participant twice', [...ONE, enrolled('001')], 'randomized twice'],
  ['a treatment that the study does not have', [registered(), elsewhere], RangeError],
  ['a level that the study does not have', [registered(), nowhere], RangeError],
])('the fold refuses %s', (_, facts, why) => {
  const folding = () =>
    facts.reduce((state, one, revision) => evolve(state, event(one, revision)), studyState.initial());
  expect(folding).toThrow(why);
});

it.each<[boolean, StudyOutcome['type'][]]>([
  [false, ['already-registered', 'already-recovered', 'already-recorded', 'amended-meanwhile']],
  [false, ['duplicate', 'repeated', 'done-before', 'idempotency-key-reused']],
  [true, ['refused', 'already', 'stale', 'impossible', 'no-such-participant', 'full', 'no-code']],
])(
  'whether what is written may change the answer, so that it needs a second look at the log: %s, %j',
  (may, types) => {
    for (const type of types) expect(studyDecider.mayChange({ type } as StudyOutcome), type).toBe(may);
  },
);
