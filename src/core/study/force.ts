/** Enters an allocation that was made outside the service. Pure, like decide.ts. */
import type { StudyFact } from '../../../events/catalogue.ts';
import type { PartialEvent } from '../../../events/record.ts';
import { type Source, stateProblem } from '../acts/acts.ts';
import { activeFactors, type Design, hasRatio } from '../model/design.ts';
import { levelRefusal } from '../model/limits.ts';
import {
  type Closing,
  digestOf,
  isAmendedSince,
  levelPlace,
  type Model,
  repeated,
  requestSection,
} from '../model/model.ts';
import { impossible, type StudyOutcome } from '../model/outcomes.ts';
import { isFor, isFree } from '../model/packs.ts';
import { levelsByFactor, namedLevels } from '../model/participants.ts';
import type { Decision } from '../write/decider.ts';
import type { Force } from './commands.ts';

type ForcedFact = Extract<StudyFact, { type: 'AllocationForced' }>;

const NO_WORD_OF_A_PACK =
  'the study has packs: say which one the participant was given, or that it was none (null, or --no-code)';

export function decideForce(
  model: Model,
  command: Force,
  source: Source,
): Decision<ForcedFact, StudyOutcome> {
  const fact = forcedOf(model, command);
  const { participantId, treatment } = command;
  const problem =
    repeated(model, command, () => forcedDigest(fact, model.design)) ??
    stateProblem(model, fact.type) ??
    (isAmendedSince(model, command) ? ({ type: 'amended-meanwhile' } as const) : undefined) ??
    forcedProblem(model, fact) ??
    (model.lists > 0 && command.code === undefined ? impossible('code', NO_WORD_OF_A_PACK) : undefined) ??
    treatmentProblem(model, treatment, command.occurredAt) ??
    (typeof source === 'string' ? packProblem(model, command, source === 'try') : undefined);
  if (problem) return { outcome: problem };
  return { fact, outcome: { type: 'recorded', participantId, moves: fact.data.counted } };
}

/** What makes two requests the same. */
export function forcedDigest(
  {
    type,
    data,
    sections,
  }: Pick<Extract<PartialEvent, { type: 'AllocationForced' }>, 'type' | 'data' | 'sections'>,
  design: Pick<Design, 'factors'>,
): string {
  const { counted: _, levels, ...asked } = data;
  const placed = levels.map(({ factor, level }) => [factor, levelPlace(factor, level, design)]);
  const { treatment } = sections.allocation ?? {};
  return digestOf(type, { ...asked, levels: placed, treatment, note: sections.note?.text });
}

/** A dry run reveals nothing about the treatment that a pack holds. */
function packProblem(
  model: Model,
  { code, levels, participantId, replaces, treatment }: Force,
  isDry: boolean,
): StudyOutcome | undefined {
  if (typeof code !== 'string') return undefined;
  const { design, packs, participants } = model;
  const pack = packs.get(code);
  const isOwn = replaces !== undefined && participants.get(participantId)?.pack?.code === code;
  const isRight =
    pack !== undefined &&
    (isOwn || isFree(model, code)) &&
    isFor(pack, design, levels) &&
    (isDry || pack.treatment === treatment);
  return isRight ? undefined : impossible('code', NO_SUCH_PACK);
}

const NO_SUCH_PACK = 'no free pack of this arm has this code';

/** The fact that the command asks for, whether or not it is possible. */
function forcedOf(model: Model, command: Force): ForcedFact {
  const { design } = model;
  const { cause, code, levels, note, occurredAt, participantId, replaces, treatment } = command;
  return {
    type: 'AllocationForced',
    data: {
      cause,
      ...(typeof code === 'string' && { code }),
      counted: design.policies.forcedCounts === 'counted',
      levels: namedLevels(design, levels),
      occurredAt,
      participantId,
      ...(replaces !== undefined && { replaces }),
    },
    sections: {
      allocation: forcedAllocation(model, treatment),
      note: { text: note },
      ...requestSection(command),
    },
  };
}

/** The treatment, and with a ratio the slot of it with the fewest participants. */
export function forcedAllocation(
  { design, counts }: Model,
  treatment: string,
): ForcedFact['sections']['allocation'] {
  if (!hasRatio(design)) return { treatment };
  return { treatment, slot: counts.leastFilled(slotsOf(design, treatment)) };
}

/** Indexes of the slots of a treatment. */
export function slotsOf({ slots }: Pick<Design, 'slots'>, treatment: string): number[] {
  return slots.flatMap((slot, index) => (slot === treatment ? [index] : []));
}

/** Why nobody can have been allocated to this treatment at that time; undefined if somebody can. */
export function treatmentProblem(
  { design, closings }: Model,
  treatment: string,
  occurredAt: string,
): StudyOutcome | undefined {
  if (!design.treatments.includes(treatment))
    return impossible('treatment', 'the study has no such treatment');
  const closing = closings.find(
    ({ treatment: one, from, to }) =>
      one === treatment && from <= occurredAt && (to === undefined || occurredAt < to),
  );
  return closing && impossible('treatment', closedThen(closing, occurredAt));
}

function closedThen({ from, to }: Closing, occurredAt: string): string {
  if (from === '') return `this arm did not exist at ${occurredAt}: it was added at ${to}`;
  return `this arm was closed at ${occurredAt}: since ${from}${to === undefined ? ', and it still is' : `, until ${to}`}`;
}

/** Why it is not possible, as far as the clear part shows; undefined if it is possible. */
export function forcedProblem(model: Model, { data }: Pick<ForcedFact, 'data'>): StudyOutcome | undefined {
  const levels = levelsByFactor(data.levels, model.design.factors);
  return (
    idProblem(model, data) ??
    levelRefusal(model.design, levels, 'level-unknown') ??
    codeProblem(model, data) ??
    lateProblem(model, data) ??
    closedProblem(model, levels)
  );
}

/** The id must be free, or that of a wrong entry. */
function idProblem(model: Model, { participantId, replaces }: ForcedFact['data']): StudyOutcome | undefined {
  const holder = model.participants.find(participantId);
  if (replaces === undefined) {
    if (!holder) return undefined;
    const { voided } = holder.corrected ?? {};
    const hint = voided?.cause === 'entry' ? ` (hint: replaces ${holder.revision})` : '';
    return impossible('participantId', `a participant has, or had, this id${hint}`);
  }
  const isOfIt = holder?.revision === replaces && holder.participantId === participantId;
  if (!isOfIt) return impossible('replaces', 'no participant with this id was entered at this revision');
  return holder.corrected?.voided?.cause === 'entry'
    ? undefined
    : impossible('replaces', 'that allocation is not voided as a wrong entry');
}

/** The pack of a wrong entry goes to the entry that replaces it, or stays used. */
function codeProblem(
  { given, lists, participants }: Model,
  { code, participantId, replaces }: ForcedFact['data'],
): StudyOutcome | undefined {
  if (code === undefined || (lists > 0 && given.get(code) === undefined)) return undefined;
  const isOwn = replaces !== undefined && participants.get(participantId)?.pack?.code === code;
  return isOwn ? undefined : impossible('code', NO_SUCH_PACK);
}

/** A closed study takes only what was allocated before it was closed. */
function lateProblem(
  { status, closedAt }: Model,
  { occurredAt }: ForcedFact['data'],
): StudyOutcome | undefined {
  const isLate = status === 'closed' && closedAt !== undefined && occurredAt >= closedAt;
  return isLate ? impossible('occurredAt', `the study was closed at ${closedAt}`) : undefined;
}

function closedProblem({ design }: Model, levels: readonly string[]): StudyOutcome | undefined {
  const closed = levelRefusal(design, levels, 'level-closed');
  if (closed?.type !== 'level-closed') return closed;
  const index = activeFactors(design).findIndex(({ name }) => name === closed.factor);
  return impossible(
    `levels[${index}].level`,
    `${closed.level} of ${closed.factor} is closed (hint: reopen it, or amend the study)`,
  );
}
