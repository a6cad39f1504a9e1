/**
 * The decider of a study: the study as it is and a command in, the fact to record and the outcome to report out.
 * Pure: no clock, no ids, no I/O. The write path, a dry run and the replay of a log all ask it, so they cannot disagree.
 *
 * Randomizing, amending, registering and recovering a study are decided here, and so are lists of packs and code-breaks.
 * Entries by hand, imports, lists of allocations and acts have deciders of their own, to which `decide` passes on.
 */
import type { StudyFact } from '../../../events/catalogue.ts';
import { ALGORITHMS, type Algorithm, type StudyConfiguration } from '../../../events/study.ts';
import { factOf, type Requester } from '../acts/act.ts';
import {
  type ActCommand,
  askedDigest,
  type CommandOf,
  decideAct,
  type Source,
  stateProblem,
} from '../acts/acts.ts';
import { breakCode, recordedAlready } from '../acts/unblinding.ts';
import { allocate } from '../methods/method.ts';
import { levelNow, openTreatments, revealsArm } from '../model/design.ts';
import { isPackWithin } from '../model/key-limits.ts';
import { fullLimit, levelRefusal } from '../model/limits.ts';
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
import { impossible, type StudyOutcome } from '../model/outcomes.ts';
import { idByPack, lacksPacks, listProblem, MAX_ENTRY_BYTES, packFor } from '../model/packs.ts';
import { currentLevels, NONE, namedLevels } from '../model/participants.ts';
import { isWeakSeed, Pcg64 } from '../random/pcg64.ts';
import type { Decider, Decision, Occasion } from '../write/decider.ts';
import { amendmentOf, amendmentProblem, staleAmendment, usedVisits } from './amendments.ts';
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
import { evolve, fork, type StudyState } from './fold.ts';
import { decideForce } from './force.ts';
import { decideImport } from './import.ts';
import { registerList, skipEntries } from './lists.ts';

export const studyDecider: Decider<StudyState, StudyCommand, StudyFact, StudyOutcome> = {
  decide,
  mayChange: ({ type }) => !LASTING_OUTCOMES.has(type),
  evolve,
  fork,
  urgency: (command) => (command.type === 'act' ? command.urgency : undefined),
};

/** What nothing that another process writes can change. */
const LASTING_OUTCOMES: ReadonlySet<StudyOutcome['type']> = new Set([
  'already-registered',
  'already-recovered',
  'already-recorded',
  'amended-meanwhile',
  'duplicate',
  'repeated',
  'done-before',
  'idempotency-key-reused',
]);

type StudyDecision = Decision<StudyFact, StudyOutcome>;

export function decide(state: StudyState, command: StudyCommand, occasion: Occasion): StudyDecision {
  if (command.type === 'register') return registerStudy(state, command);
  if (state.status === 'unregistered') return { outcome: { type: 'not-registered' } };
  switch (command.type) {
    case 'randomize':
      return randomize(state, command, occasion);
    case 'recover':
      return recover(state, command);
    case 'begin-import':
    case 'import-participant':
    case 'end-import':
      return decideImport(state, command, occasion.at);
    case 'register-packs':
      return registerPacks(state, command);
    case 'register-list':
      return registerList(state, command, occasion.at);
    case 'skip-entries':
      return skipEntries(state, command);
    default:
      return decideInClear(state, command, occasion, 'choose');
  }
}

export type ClearCommand = Amend | Force | ActCommand;

/** The commands whose rules need nothing sealed, but for what a record chooses: they are checked in a blinded bundle, too. */
export function decideInClear(
  model: Model,
  command: ClearCommand,
  occasion: Occasion,
  source: Source,
): StudyDecision {
  switch (command.type) {
    case 'amend':
      return amend(model, command, occasion.at);
    case 'force':
      return decideForce(model, command, source);
    case 'act':
      return command.act === 'AllocationRevealed'
        ? decideCodeBreak(model, command, occasion, source)
        : decideAct(model, command, occasion, source);
  }
}

export type TriableCommand = Randomize | RegisterPacks | RegisterList | SkipEntries | ClearCommand;

/** What the outcome of a command would be at this time, without drawing anything or choosing a pack. */
export function tryOut(state: StudyState, command: TriableCommand, at: string): StudyOutcome {
  if (state.status === 'unregistered') return { type: 'not-registered' };
  switch (command.type) {
    case 'randomize': {
      const { participantId } = command;
      return randomizeRefusal(state, command) ?? { type: 'randomized', participantId };
    }
    case 'register-packs':
      return registerPacks(state, command).outcome;
    case 'register-list':
      return registerList(state, command, at).outcome;
    case 'skip-entries':
      return skipEntries(state, command).outcome;
    default:
      return decideInClear(state, command, { at, mode: 'request' }, 'try').outcome;
  }
}

function registerStudy(state: StudyState, command: Register): StudyDecision {
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

function randomize(state: Model, command: Randomize, { mode }: Occasion): StudyDecision {
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
  const code = state.lists === 0 ? undefined : packFor(state, levels, treatment, participantId, mode);
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
      enrolled?.participantId === participantId &&
      differingFactorsOf(state, enrolled.levels, levels).length === 0;
    return isSame ? { type: 'repeated', participantId } : { type: 'idempotency-key-reused' };
  }
  const taken = state.participants.find(participantId);
  if (taken) {
    // The client may have the levels from before a correction.
    const isAsRandomized = differingFactorsOf(state, taken.levels, levels).length === 0;
    const differingFactors = isAsRandomized ? [] : differingFactorsOf(state, currentLevels(taken), levels);
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

/**
 * Names of the factors whose levels differ. A request from before a renaming has the old names, and one from after a factor
 * was retired has no level of it.
 * @param b as asked for
 */
function differingFactorsOf(
  { design: { factors } }: Model,
  a: readonly string[],
  b: readonly string[],
): string[] {
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

type PacksFact = Extract<StudyFact, { type: 'CodesRegistered' }>;
type PacksDecision = Decision<PacksFact, StudyOutcome>;

/** Registers a list of packs, whose treatments are sealed. */
function registerPacks(state: Model, { list, where, key, entries }: RegisterPacks): PacksDecision {
  const { closedTreatments } = state.design;
  const hasClosedArm = entries.some(({ treatment }) => closedTreatments.includes(treatment));
  const fact: PacksFact = {
    type: 'CodesRegistered',
    data: { count: entries.length, list, ...(where && { where }) },
    sections: { codes: { key, entries: [...entries], ...(hasClosedArm && { closedArms: true as const }) } },
  };
  const problem =
    stateProblem(state, fact.type) ?? listProblem(state, fact.data) ?? packEntriesProblem(state, entries);
  return problem ? { outcome: problem } : { fact, outcome: { type: 'codes-registered' } };
}

function packEntriesProblem(
  { design, packs }: Model,
  entries: RegisterPacks['entries'],
): StudyOutcome | undefined {
  if (Buffer.byteLength(JSON.stringify(entries)) > MAX_ENTRY_BYTES)
    return impossible('count', `a list takes at most ${MAX_ENTRY_BYTES} bytes`);
  const { treatments, stoppedTreatments } = design;
  const own = new Set<string>();
  for (const { code, treatment } of entries) {
    if (!treatments.includes(treatment))
      return impossible('entries', `${code}: ${treatment} is no arm of the study`);
    // Those on a closed arm may get more packs, until it is stopped.
    if (stoppedTreatments.includes(treatment))
      return impossible('entries', `${code}: the arm ${treatment} is stopped`);
    if (own.has(code) || packs.get(code))
      return impossible('entries', `the code ${code} is registered already`);
    if (revealsArm(code, treatments))
      return impossible('entries', `the code ${code} is, or contains, the name of an arm`);
    own.add(code);
  }
  return undefined;
}

function amend(model: Model, command: Amend, at: string): StudyDecision {
  const type = 'StudyAmended';
  const data = amendmentOf(command, model.design);
  const problem =
    repeated(model, command, () => digestOf(type, data)) ??
    stateProblem(model, type) ??
    staleAmendment(model.design, data) ??
    amendmentProblem(model.design, data, at, () => usedVisits(model));
  if (problem) return { outcome: problem };
  return { fact: { type, data, sections: requestSection(command) }, outcome: { type: 'amended' } };
}

type BreakCommand = CommandOf<'AllocationRevealed'>;

/** Breaks the code of a participant, or of a pack alone. If the pack was given out, it is about the participant, too. */
function decideCodeBreak(
  model: Model,
  command: BreakCommand,
  occasion: Occasion,
  source: Source,
): Decision<StudyFact, StudyOutcome> {
  const { asked, by, brings = {} } = command;
  const { code } = asked;
  const participantId = code === undefined ? asked.participantId : idByPack(model, code);
  if (participantId !== undefined)
    return decideAct(model, { ...command, asked: { ...asked, participantId } }, occasion, source);
  const alone = { ...asked, participantId };
  const problem =
    repeated(model, by, () => askedDigest(breakCode, alone, model)) ??
    recordedAlready(model, brings) ??
    (isKnownPack(model, command, source) ? undefined : ({ type: 'no-such-participant' } as const));
  if (problem) return { outcome: problem };
  const fact = factOf(breakCode.writes, { ...alone, ...brings }, by.idempotencyKey);
  return { fact, outcome: { type: 'recorded', moves: false } };
}

/** Whether the pack is on a list and within the limits of the key, as far as the lists are there. */
function isKnownPack(model: Model, { asked: { code }, by }: BreakCommand, source: Source): boolean {
  if (code === undefined || model.lists === 0) return false;
  if (typeof source !== 'string') return true;
  const pack = model.packs.get(code);
  return pack !== undefined && isPackWithin(by.where, pack, model.design);
}

/**
 * The command that breaks a code.
 * @param more by default, what a dry run brings
 */
export function breakCommand(
  asked: BreakCommand['asked'],
  by: Requester,
  more: Partial<BreakCommand> = { brings: { reveal: 'dry run' } },
): BreakCommand {
  return { type: 'act', act: 'AllocationRevealed', asked, by, ...more };
}
