/** A small study and facts about it, for tests that need some fact and do not care which. */
import type { Fact, StudyFact } from '../../events/catalogue.ts';
import { type Actor, encodeRecord, type LogEvent, type RecordBytes } from '../../events/record.ts';
import type { UrnConfiguration } from '../../events/study.ts';
import type { Tools } from '../../src/base/tools.ts';
import { Counts } from '../../src/core/methods/memory.ts';
import { allocate } from '../../src/core/methods/urn.ts';
import { Pcg64 } from '../../src/core/random/pcg64.ts';
import type { Randomize, Register } from '../../src/core/study/commands.ts';
import type { Occasion } from '../../src/core/write/decider.ts';
import { fixedTools, LOG_ID } from './fixed-tools.ts';
import { urnOf } from './urn-study.ts';

export const NURSE: Actor = { keyId: 'k0011', user: 'nurse', accessRevision: 4 };
export const OPERATOR: Actor = { cli: true, user: 'operator' };

/** A request, whose approvals have all been given. */
export const ASKED: Occasion = { at: '9999-12-31T00:00:00.000Z', mode: 'request' };

export const STUDY_ID = '5a1e0f6c-30f7-5d21-9c3e-6a0f5d2b7c11';
export const STREAM = `study-${STUDY_ID}`;

/** Its factors are named and ordered so that object keys would reorder them. */
export const CONFIGURATION: UrnConfiguration = {
  name: 'CHS JCOIN',
  mode: 'live',
  D: 'chisquare',
  urnSelection: 'method1',
  w: 1,
  alpha: 0,
  beta: 1,
  treatments: ['MART', 'RMC-Q', 'RMC-A'],
  factors: [
    { name: '10', levels: ['Male', 'Female'] },
    { name: '9', levels: ['11-Cook County – Chicago', '30-Dupage County'] },
  ],
};
export const LEVELS = ['Female', '30-Dupage County'];
export const SEED = 205891132094649041003846091740412883221n;

export const REGISTER: Register = {
  type: 'register',
  studyId: STUDY_ID,
  configuration: CONFIGURATION,
  seed: SEED,
  seedSource: 'drawn',
};

export const randomize = (participantId: string, more: Partial<Randomize> = {}): Randomize => ({
  type: 'randomize',
  participantId,
  levels: LEVELS,
  user: 'nurse',
  ...more,
});

type Said<T extends Fact['type']> = Extract<Fact, { type: T }>;

export function registered(): Said<'StudyRegistered'> {
  return {
    type: 'StudyRegistered',
    data: {
      studyId: STUDY_ID,
      configuration: CONFIGURATION,
      seedSource: 'drawn',
      seedWeak: false,
      algorithm: { name: 'wei-urn-method1-pcg64', version: 1 },
    },
    sections: { generator: { seed: String(SEED), bgState: Pcg64.fromSeed(SEED).snapshot() } },
  };
}

/** The first participant of the study, truly allocated, under an idempotency key. */
export function randomized(participantId = '001-0001'): Said<'ParticipantRandomized'> {
  const before = Pcg64.fromSeed(SEED).snapshot();
  const urn = urnOf(CONFIGURATION);
  const { treatment, draw } = allocate(urn, new Counts(urn), [1, 1], before);
  return {
    type: 'ParticipantRandomized',
    data: {
      participantId,
      levels: CONFIGURATION.factors.map(({ name }, i) => ({ factor: name, level: LEVELS[i] ?? '' })),
    },
    sections: { allocation: { treatment }, draw, request: { idempotencyKey: 'visit-7' } },
  };
}

export const paused: StudyFact = { type: 'StudyPaused', data: { reason: 'data review' }, sections: {} };
export const resumed: StudyFact = { type: 'StudyResumed', data: { reason: 'review done' }, sections: {} };

/** A fact as the event that a fold sees. */
export function event(
  fact: Fact,
  revision: number,
  { stream = STREAM, log = LOG_ID, actor = NURSE, tools = fixedTools(revision) }: Partial<Place> = {},
): LogEvent {
  return {
    id: tools.newId(),
    log,
    stream,
    revision,
    at: tools.now().toISOString(),
    actor,
    ...fact,
  } as LogEvent;
}

/** A fact as it is stored. */
export function stored(
  fact: Fact,
  revision: number,
  place: Partial<Place> = {},
): RecordBytes & { stream: string; revision: number } {
  const tools = place.tools ?? fixedTools(revision);
  const { id, log, stream, at, actor } = event(fact, revision, { ...place, tools });
  return { ...encodeRecord({ id, log, stream, revision, at, actor }, fact, tools.newSalt), stream, revision };
}

interface Place {
  stream: string;
  log: string;
  actor: Actor;
  tools: Tools;
}
