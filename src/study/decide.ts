/** The decider of a study: command and state in, fact and outcome out. Pure: no clock, no ids, no I/O. */
import type { StudyFact } from '../../events/study.ts';
import { Pcg64 } from '../random/pcg64.ts';
import { isWeakSeed } from '../random/weak-seed.ts';
import { allocate } from '../urn/allocate.ts';
import type { Decider, Decision } from '../write/decider.ts';
import type { Pause, Randomize, Recover, Register, Resume, StudyCommand, StudyOutcome } from './commands.ts';
import { evolve, fork, levelIndexes, type RegisteredState, requestKey, type StudyState } from './state.ts';

type StudyDecision = Decision<StudyFact, StudyOutcome>;

export function decide(state: StudyState, command: StudyCommand): StudyDecision {
  if (command.type === 'register') return register(state, command);
  if (state.status === 'unregistered') return { outcome: { type: 'not-registered' } };
  switch (command.type) {
    case 'randomize':
      return randomize(state, command);
    case 'pause':
      return pause(state, command);
    case 'resume':
      return resume(state, command);
    case 'recover':
      return recover(state, command);
  }
}

function register(state: StudyState, { studyId, configuration, seed, seedSource }: Register): StudyDecision {
  if (state.status !== 'unregistered') return { outcome: { type: 'already-registered' } };
  return {
    fact: {
      type: 'StudyRegistered',
      data: {
        studyId,
        configuration,
        seedSource,
        seedWeak: isWeakSeed(seed),
        algorithm: { name: 'wei-urn-method1-pcg64', version: 1 },
      },
      sections: { generator: { seed: String(seed), bgState: Pcg64.fromSeed(seed).snapshot() } },
    },
    outcome: { type: 'registered' },
  };
}

/**
 * The order matters: a repeated request gets the same answer whatever the study's state is now. Only a new participant
 * needs an open study.
 */
function randomize(state: RegisteredState, command: Randomize): StudyDecision {
  const { participantId, levels, idempotencyKey } = command;
  if (idempotencyKey !== undefined) {
    const earlier = state.requests.get(requestKey(command.user, idempotencyKey));
    if (earlier) {
      const same =
        earlier.participantId === participantId && differing(state, earlier.levels, levels).length === 0;
      return { outcome: same ? { type: 'repeated', participantId } : { type: 'idempotency-key-reused' } };
    }
  }
  const taken = state.enrolled.get(participantId);
  if (taken) {
    const differingFactors = differing(state, taken.levels, levels);
    return { outcome: { type: 'duplicate', participantId, differingFactors } };
  }
  if (state.status === 'paused') return { outcome: { type: 'refused', because: 'paused' } };
  if (command.suspended) return { outcome: { type: 'refused', because: 'suspended' } };

  const { treatment, draw } = allocate(
    state.configuration,
    state.counts,
    levelIndexes(state, levels),
    state.bgState,
  );
  const named = state.configuration.factors.map(({ name }, i) => ({ factor: name, level: levels[i] ?? '' }));
  return {
    fact: {
      type: 'ParticipantRandomized',
      data: { levels: named, participantId },
      sections: {
        allocation: { treatment },
        draw,
        ...(idempotencyKey === undefined ? {} : { request: { idempotencyKey } }),
      },
    },
    outcome: { type: 'randomized', participantId },
  };
}

/** Names of the factors whose levels differ. */
function differing(state: RegisteredState, a: readonly string[], b: readonly string[]): string[] {
  return state.configuration.factors.filter((_, i) => a[i] !== b[i]).map(({ name }) => name);
}

function pause(state: RegisteredState, { reason }: Pause): StudyDecision {
  if (state.status === 'paused') return { outcome: { type: 'already-paused' } };
  return { fact: { type: 'StudyPaused', data: { reason }, sections: {} }, outcome: { type: 'paused' } };
}

function resume(state: RegisteredState, { reason }: Resume): StudyDecision {
  if (state.status === 'open') return { outcome: { type: 'not-paused' } };
  return { fact: { type: 'StudyResumed', data: { reason }, sections: {} }, outcome: { type: 'resumed' } };
}

function recover(state: RegisteredState, { recovery, kept, signed, seed }: Recover): StudyDecision {
  if (state.recovery >= recovery) return { outcome: { type: 'already-recovered' } };
  return {
    fact: {
      type: 'StudyRecovered',
      data: { recovery, kept, ...(signed && { signed }) },
      sections: { generator: { seed: String(seed), bgState: Pcg64.fromSeed(seed).snapshot() } },
    },
    outcome: { type: 'recovered' },
  };
}

export const studyDecider: Decider<StudyState, StudyCommand, StudyFact, StudyOutcome> = {
  decide,
  evolve,
  fork,
};
