/** Decides the commands that need the lists of packs, which are sealed. Pure, like decide.ts. */
import type { StudyFact } from '../../events/catalogue.ts';
import { openTreatments } from '../../projections/design.ts';
import { currentLevels } from '../../projections/enrolled.ts';
import type { Decision } from '../write/decider.ts';
import {
  type Force,
  impossible,
  type LifeCommand,
  type PackCommand,
  type RegisterCodes,
  type ReplaceCode,
  type StudyOutcome,
  type WithdrawCodes,
} from './commands.ts';
import { askedAgain, decideLife, stateProblem } from './decide-life.ts';
import { isPackWithin } from './key-limits.ts';
import { requestSection } from './life.ts';
import { isFor, isFree, lacksPacks, listProblem, type Pack, packFor } from './packs.ts';
import type { RegisteredState } from './state.ts';

type PackFact = Extract<StudyFact, { type: 'CodesRegistered' | 'CodesWithdrawn' }>;
type PackDecision = Decision<PackFact, StudyOutcome>;
type ReplacementDecision = Decision<Extract<StudyFact, { type: 'CodeReplaced' }>, StudyOutcome>;

/** The most bytes that the entries of one record may take. */
export const MAX_BYTES = 200_000;

export function decidePacks(state: RegisteredState, command: PackCommand): PackDecision {
  return command.type === 'register-codes' ? registerCodes(state, command) : withdrawCodes(state, command);
}

function registerCodes(state: RegisteredState, { list, where, key, entries }: RegisterCodes): PackDecision {
  const fact: PackFact = {
    type: 'CodesRegistered',
    data: { count: entries.length, list, ...(where && { where }) },
    sections: { codes: { key, entries: [...entries] } },
  };
  const problem =
    stateProblem(state, fact) ?? listProblem(state, fact.data) ?? entriesProblem(state, entries);
  return problem ? { outcome: problem } : { fact, outcome: { type: 'codes-registered' } };
}

function entriesProblem(
  { design, packs }: RegisteredState,
  entries: RegisterCodes['entries'],
): StudyOutcome | undefined {
  if (Buffer.byteLength(JSON.stringify(entries)) > MAX_BYTES)
    return impossible('count', `a list takes at most ${MAX_BYTES} bytes`);
  const open = openTreatments(design);
  const own = new Set<string>();
  for (const { code, treatment } of entries) {
    if (!open.includes(treatment))
      return impossible('entries', `${code}: ${treatment} is no open arm of the study`);
    if (own.has(code) || packs.get(code))
      return impossible('entries', `the code ${code} is registered already`);
    if (revealsArm(code, design.treatments))
      return impossible('entries', `the code ${code} is, or contains, the name of an arm`);
    own.add(code);
  }
  return undefined;
}

/** Short names occur in codes by chance. */
const MIN_LENGTH = 4;

/** Whether the code is the name of an arm, or contains one that is not short. */
export function revealsArm(code: string, treatments: readonly string[]): boolean {
  const folded = code.toLowerCase();
  return treatments.some((treatment) => {
    const name = treatment.toLowerCase();
    return folded === name || (name.length >= MIN_LENGTH && folded.includes(name));
  });
}

/** A code that is unknown, not free, or outside the limits of the key: one text for all. */
function withdrawCodes(state: RegisteredState, command: WithdrawCodes): PackDecision {
  const { codes, reason, where } = command;
  const fact: PackFact = {
    type: 'CodesWithdrawn',
    data: { count: codes.length },
    sections: { withdrawn: { codes: [...codes], reason }, ...requestSection(command) },
  };
  const again = askedAgain(state, command, fact);
  if (again) return { outcome: again };
  const isKnown = (code: string) => {
    const pack = state.packs.get(code);
    return pack !== undefined && isFree(state, code) && isPackWithin(where, pack, state.design);
  };
  const wrong = codes.filter((code, i) => !isKnown(code) || codes.indexOf(code) !== i);
  const problem =
    stateProblem(state, fact) ??
    (wrong.length > 0 ? impossible('codes', `no free pack has the code ${wrong.join(', ')}`) : undefined);
  return problem ? { outcome: problem } : { fact, outcome: { type: 'codes-withdrawn' } };
}

/** The pack is chosen last, so that no refusal takes longer for one participant than for another. */
export function decideReplacement(state: RegisteredState, command: ReplaceCode): ReplacementDecision {
  const tried = triedReplacement(state, command);
  const { fact } = tried;
  const participant = fact && state.enrolled.get(fact.data.participantId);
  if (!participant) return tried;
  const { participantId, pack } = participant;
  const arm = pack?.treatment ?? '';
  const by = packFor(state, currentLevels(participant), arm, participantId, command.isRecorded);
  if (by === undefined) return { outcome: { type: 'no-code' } };
  return {
    fact: { ...fact, data: { ...fact.data, by } },
    outcome: { type: 'code-replaced', participantId, moves: false, by },
  };
}

/**
 * How many packs every arm needs, closed ones too, before somebody who may not know what packs hold can replace one. With one,
 * a site that replaces packs until it is refused would find out who shares an arm. It must not depend on who is in the study:
 * voiding somebody and trying again would tell their arm.
 */
const MARGIN = 3;

/** Everything but the choice of the pack, and so all that a dry run does. */
export function triedReplacement(state: RegisteredState, command: ReplaceCode): ReplacementDecision {
  const { fact, outcome } = decideLife(state, command);
  if (fact?.type !== 'CodeReplaced') return { outcome };
  const participant = state.enrolled.get(fact.data.participantId);
  const own = participant?.pack?.treatment ?? '';
  const arms = command.isSupply ? [own] : state.design.treatments;
  const needed = command.isSupply || command.isRecorded ? 1 : MARGIN;
  const levels = participant ? currentLevels(participant) : [];
  return lacksPacks(state, levels, arms, needed) ? { outcome: { type: 'no-code' } } : { fact, outcome };
}

/** The command, completed with what only the lists of packs tell. */
export function withPacks(state: RegisteredState, command: LifeCommand): LifeCommand {
  switch (command.type) {
    case 'reveal': {
      const { code, where } = command;
      const pack = code === undefined ? undefined : state.packs.get(code);
      return { ...command, isPackKnown: pack !== undefined && isPackWithin(where, pack, state.design) };
    }
    case 'force':
      return withRightPack(state, command, ({ treatment }) => treatment === command.treatment);
    default:
      return command;
  }
}

/** A dry run reveals nothing about the treatment that a pack holds. */
export function withFreePack(state: RegisteredState, command: Force): Force {
  return withRightPack(state, command, () => true);
}

function withRightPack(state: RegisteredState, command: Force, isRight: (pack: Pack) => boolean): Force {
  const { code, levels, participantId, replaces } = command;
  if (typeof code !== 'string') return command;
  const pack = state.packs.get(code);
  const isOwn = replaces !== undefined && state.enrolled.get(participantId)?.pack?.code === code;
  const isPackRight =
    pack !== undefined &&
    (isOwn || isFree(state, code)) &&
    isFor(pack, state.design, levels) &&
    isRight(pack);
  return { ...command, isPackRight };
}
