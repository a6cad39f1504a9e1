/** The decider of a study: command and state in, fact and outcome out. Pure: no clock, no ids, no I/O. */

import type { StudyFact } from '../../../events/catalogue.ts';
import { ALGORITHMS, type Algorithm, type StudyConfiguration } from '../../../events/study.ts';
import { stateProblem } from '../acts/acts.ts';
import type { ActCommand } from '../acts/command.ts';
import { decideAct, type Source } from '../acts/decide-act.ts';
import { allocate } from '../methods/method.ts';
import { levelNow, openTreatments } from '../model/design.ts';
import { levelRefusal, namedLevels } from '../model/levels.ts';
import { fullLimit } from '../model/limits.ts';
import { methodOf } from '../model/method-of.ts';
import {
  answeredBefore,
  digestOf,
  generatorOf,
  isAmendedSince,
  levelIndexes,
  type Model,
  repeated,
  requestSection,
} from '../model/model.ts';
import type { StudyOutcome } from '../model/outcomes.ts';
import { lacksPacks, packFor } from '../model/packs.ts';
import { currentLevels, NONE } from '../model/participants.ts';
import { Pcg64 } from '../random/pcg64.ts';
import { isWeakSeed } from '../random/weak-seed.ts';
import type { Decider, Decision } from '../write/decider.ts';
import { amendmentOf, amendmentProblem, staleAmendment, usedVisits } from './amendments.ts';
import { decideBreak } from './break-pack-code.ts';
import type {
  Amend,
  Force,
  Randomize,
  Recover,
  Register,
  RegisterList,
  RegisterPacks,
  SkipEntries,
  StudyCommand,
} from './commands.ts';
import { decideImport } from './decide-import.ts';
import { decideForce } from './force.ts';
import { registerList, skipEntries } from './lists.ts';
import { registerPacks } from './register-packs.ts';
import { evolve, fork, type StudyState } from './state.ts';

type StudyDecision = Decision<StudyFact, StudyOutcome>;

export function decide(state: StudyState, command: StudyCommand): StudyDecision {
  if (command.type === 'register') return register(state, command);
  if (state.status === 'unregistered') return { outcome: { type: 'not-registered' } };
  switch (command.type) {
    case 'randomize':
      return randomize(state, command);
    case 'recover':
      return recover(state, command);
    case 'begin-import':
    case 'import-participant':
    case 'end-import':
      return decideImport(state, command);
    case 'register-packs':
      return registerPacks(state, command);
    case 'register-list':
      return registerList(state, command);
    case 'skip-entries':
      return skipEntries(state, command);
    default:
      return decideInClear(state, command, 'choose');
  }
}

/** The commands whose rules need nothing sealed, but for what a record chooses: they are checked in a blinded bundle, too. */
export function decideInClear(model: Model, command: ClearCommand, source: Source): StudyDecision {
  switch (command.type) {
    case 'amend':
      return amend(model, command);
    case 'force':
      return decideForce(model, command, source);
    case 'act':
      return command.act === 'AllocationRevealed'
        ? decideBreak(model, command, source)
        : decideAct(model, command, source);
  }
}

export type ClearCommand = Amend | Force | ActCommand;

function amend(model: Model, command: Amend): StudyDecision {
  const type = 'StudyAmended';
  const data = amendmentOf(command, model.design);
  const problem =
    repeated(model, command, () => digestOf(type, data)) ??
    stateProblem(model, type) ??
    staleAmendment(model.design, data) ??
    amendmentProblem(model.design, data, { askedAt: command.askedAt, used: () => usedVisits(model) });
  if (problem) return { outcome: problem };
  return { fact: { type, data, sections: requestSection(command) }, outcome: { type: 'amended' } };
}

function register(state: StudyState, command: Register): StudyDecision {
  const { studyId, configuration, parameters, seed, seedSource } = command;
  if (state.status !== 'unregistered') return { outcome: { type: 'already-registered' } };
  return {
    fact: {
      type: 'StudyRegistered',
      data: {
        studyId,
        configuration,
        seedSource,
        seedWeak: isWeakSeed(seed),
        algorithm: algorithmOf(configuration),
      },
      sections: {
        generator: { seed: String(seed), bgState: Pcg64.fromSeed(seed).snapshot() },
        ...parameters,
      },
    },
    outcome: { type: 'registered' },
  };
}

/** What draws. The versions of the urn's differ in what a ratio does. */
export function algorithmOf({ ratio, ...configuration }: StudyConfiguration): Algorithm {
  return 'method' in configuration
    ? { name: ALGORITHMS[configuration.method.name], version: 1 }
    : { name: 'wei-urn-method1-pcg64', version: ratio ? 2 : 1 };
}

function randomize(state: Model, command: Randomize): StudyDecision {
  const refused = randomizeRefusal(state, command);
  if (refused) return { outcome: refused };
  const { participantId, levels } = command;
  const { design } = state;
  const { slot, evidence } = allocate(
    methodOf(state.methodDesign),
    state,
    levelIndexes(state, levels),
    generatorOf(state),
  );
  const treatment = design.slots[slot] ?? '';
  const named = namedLevels(design, levels);
  const code =
    state.lists === 0 ? undefined : packFor(state, levels, treatment, participantId, command.isRecorded);
  return {
    fact: {
      type: 'ParticipantRandomized',
      data: code === undefined ? { levels: named, participantId } : { code, levels: named, participantId },
      sections: { allocation: { treatment }, ...evidence, ...requestSection(command) },
    },
    outcome: { type: 'randomized', participantId },
  };
}

/**
 * Why nobody is randomized; undefined if somebody would be. The order matters: a repeated request gets the same answer
 * whatever the study's state is now. Only a new participant needs an open study.
 */
function randomizeRefusal(state: Model, command: Randomize): StudyOutcome | undefined {
  const { participantId, levels } = command;
  const earlier = answeredBefore(state, command);
  if (earlier) {
    const { enrolled } = earlier;
    const isSame =
      enrolled?.participantId === participantId && differing(state, enrolled.levels, levels).length === 0;
    return isSame ? { type: 'repeated', participantId } : { type: 'idempotency-key-reused' };
  }
  const taken = state.participants.find(participantId);
  if (taken) {
    // The client may have the levels from before a correction.
    const isAsRandomized = differing(state, taken.levels, levels).length === 0;
    const differingFactors = isAsRandomized ? [] : differing(state, currentLevels(taken), levels);
    return { type: 'duplicate', participantId, differingFactors };
  }
  if (isAmendedSince(state, command)) return { type: 'amended-meanwhile' };
  const unknown = levelRefusal(state.design, levels, 'level-unknown');
  if (unknown) return unknown;
  const refused = stateProblem(state, 'ParticipantRandomized');
  if (refused) return refused;
  if (command.suspended) return { type: 'refused', because: 'suspended' };
  const closed = levelRefusal(state.design, levels, 'level-closed');
  if (closed) return closed;
  const limit = fullLimit(state.filled, state.design, levels);
  if (limit) return { type: 'full', limit };
  const isSpent = methodOf(state.methodDesign).isSpent?.(state, levelIndexes(state, levels)) ?? false;
  if (isSpent) return { type: 'no-entry' };
  // Nothing is drawn unless every arm that could be drawn has a pack, so that nobody can fish for another arm.
  const isLacking = state.lists > 0 && lacksPacks(state, levels, openTreatments(state.design));
  return isLacking ? { type: 'no-code' } : undefined;
}

export type TriableCommand = Randomize | RegisterPacks | RegisterList | SkipEntries | ClearCommand;

/** What the outcome of a command would be, without drawing anything or choosing a pack. */
export function tryOut(state: StudyState, command: TriableCommand): StudyOutcome {
  if (state.status === 'unregistered') return { type: 'not-registered' };
  switch (command.type) {
    case 'randomize': {
      const { participantId } = command;
      return randomizeRefusal(state, command) ?? { type: 'randomized', participantId };
    }
    case 'register-packs':
      return registerPacks(state, command).outcome;
    case 'register-list':
      return registerList(state, command).outcome;
    case 'skip-entries':
      return skipEntries(state, command).outcome;
    default:
      return decideInClear(state, command, 'try').outcome;
  }
}

/**
 * Names of the factors whose levels differ. A request from before a renaming has the old names, and one from after a factor
 * was retired has no level of it.
 * @param b as asked for
 */
function differing({ design: { factors } }: Model, a: readonly string[], b: readonly string[]): string[] {
  return factors
    .filter((factor, i) => {
      const [one = NONE, asked = NONE] = [a[i], b[i]];
      return asked !== NONE && one !== asked && levelNow(factor, one) !== levelNow(factor, asked);
    })
    .map(({ name }) => name);
}

function recover(state: Model, { recovery, kept, signed, seed }: Recover): StudyDecision {
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

/** What nothing that another process writes can change. */
const LASTING: ReadonlySet<StudyOutcome['type']> = new Set([
  'already-registered',
  'already-recovered',
  'already-recorded',
  'amended-meanwhile',
  'duplicate',
  'repeated',
  'done-before',
  'idempotency-key-reused',
]);

export const studyDecider: Decider<StudyState, StudyCommand, StudyFact, StudyOutcome> = {
  decide,
  mayChange: ({ type }) => !LASTING.has(type),
  evolve,
  fork,
  isUrgent: (command) =>
    command.type === 'act' && command.act === 'AllocationRevealed' && command.asked.category === 'emergency',
};
