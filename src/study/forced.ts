/** Allocations that were made outside the service: the fact that a command asks for, and why it is not possible. */
import type { StudyFact } from '../../events/catalogue.ts';
import { activeFactors, type Design, hasRatio } from '../../projections/design.ts';
import { countedLevels, levelsByFactor } from '../../projections/enrolled.ts';
import { type Force, impossible, type StudyOutcome } from './commands.ts';
import { levelRefusal, namedLevels } from './levels.ts';
import { type Closing, holderOf, type Life, requestSection } from './life.ts';

export type ForcedFact = Extract<StudyFact, { type: 'AllocationForced' }>;

/** The fact that the command asks for, whether or not it is possible. */
export function forcedOf(life: Life, command: Force): ForcedFact {
  const { design } = life;
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
    sections: { allocation: placed(life, treatment), note: { text: note }, ...requestSection(command) },
  };
}

/** The treatment, with its slot if the treatment has several. */
export function placed(life: Life, treatment: string): ForcedFact['sections']['allocation'] {
  if (!hasRatio(life.design)) return { treatment };
  return { treatment, slot: leastFilledSlot(life, treatment) };
}

/** The slot of a treatment with the fewest participants whom the urns count; the first among equals. */
function leastFilledSlot({ design, enrolled }: Life, treatment: string): number {
  const numbers = design.slots.map(() => 0);
  for (const participant of enrolled.all())
    if (countedLevels(participant, design)) numbers[participant.slot] = (numbers[participant.slot] ?? 0) + 1;
  const own = slotsOf(design, treatment);
  return own.reduce(
    (least, slot) => ((numbers[slot] ?? 0) < (numbers[least] ?? 0) ? slot : least),
    own[0] ?? -1,
  );
}

/** Indexes of the slots of a treatment. */
export function slotsOf({ slots }: Pick<Design, 'slots'>, treatment: string): number[] {
  return slots.flatMap((slot, index) => (slot === treatment ? [index] : []));
}

/** Why nobody can have been allocated to this treatment at that time; undefined if somebody can. */
export function treatmentProblem(
  { design, closings }: Life,
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
export function forcedProblem(life: Life, { data }: Pick<ForcedFact, 'data'>): StudyOutcome | undefined {
  const levels = levelsByFactor(data.levels, life.design.factors);
  return (
    idProblem(life, data) ??
    levelRefusal(life.design, levels, 'level-unknown') ??
    codeProblem(life, data) ??
    lateProblem(life, data) ??
    closedProblem(life, levels)
  );
}

/** The id must be free, or that of a wrong entry. */
function idProblem(life: Life, { participantId, replaces }: ForcedFact['data']): StudyOutcome | undefined {
  const holder = holderOf(life, participantId);
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
  { enrolled, given, lists }: Life,
  { code, participantId, replaces }: ForcedFact['data'],
): StudyOutcome | undefined {
  if (code === undefined || (lists > 0 && given.get(code) === undefined)) return undefined;
  const isOwn = replaces !== undefined && enrolled.get(participantId)?.pack?.code === code;
  return isOwn ? undefined : impossible('code', 'no free pack of this arm has this code');
}

/** A closed study takes only what was allocated before it was closed. */
function lateProblem(
  { status, closedAt }: Life,
  { occurredAt }: ForcedFact['data'],
): StudyOutcome | undefined {
  const isLate = status === 'closed' && closedAt !== undefined && occurredAt >= closedAt;
  return isLate ? impossible('occurredAt', `the study was closed at ${closedAt}`) : undefined;
}

function closedProblem({ design }: Life, levels: readonly string[]): StudyOutcome | undefined {
  const closed = levelRefusal(design, levels, 'level-closed');
  if (closed?.type !== 'level-closed') return closed;
  const index = activeFactors(design).findIndex(({ name }) => name === closed.factor);
  return impossible(
    `levels[${index}].level`,
    `${closed.level} of ${closed.factor} is closed (hint: reopen it, or amend the study)`,
  );
}
