/** Corrections of what is recorded about one participant: the fact that a command asks for, and why it is not possible. */
import type { StudyFact } from '../../events/catalogue.ts';
import type { LevelChange, VoidCause } from '../../events/corrections.ts';
import { askedLevel } from '../../projections/design.ts';
import { correctedBy, countsMoved, currentId, currentLevels } from '../../projections/enrolled.ts';
import { type Correction, impossible, type StudyOutcome } from './commands.ts';
import { type Allocated, holderOf, type Life, requestSection } from './life.ts';

type Of<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>;
export type CorrectionFact = Of<
  'LevelsCorrected' | 'AllocationVoided' | 'AllocationReinstated' | 'ParticipantIdCorrected'
>;

/** The fact that the command asks for, whether or not it is possible. */
export function correctionOf(life: Life, command: Correction, participant: Allocated): CorrectionFact {
  const { participantId, revision: randomizedAt, corrected } = participant;
  const about = { participantId, randomizedAt };
  const request = requestSection(command);
  switch (command.type) {
    case 'correct-levels': {
      const { cause, note } = command;
      const changes = inDesignOrder(life, command.changes);
      const counts = cause === 'transfer' ? 'as-randomized' : levelCounts(life);
      const data = { cause, changes, counts, ...about };
      return { type: 'LevelsCorrected', data, sections: { note: { text: note }, ...request } };
    }
    case 'void': {
      const { analysis, cause, note } = command;
      const duplicateOf = originalId(life, command.duplicateOf);
      const counts = voidCounts(life, cause);
      const data = { analysis, cause, counts, ...(duplicateOf !== undefined && { duplicateOf }), ...about };
      return { type: 'AllocationVoided', data, sections: { note: { text: note }, ...request } };
    }
    case 'reinstate': {
      const data = { ...about, voidedAt: corrected?.voided?.revision ?? 0 };
      return { type: 'AllocationReinstated', data, sections: { note: { text: command.note }, ...request } };
    }
    case 'correct-id': {
      const { cause, to } = command;
      const data = { cause, from: currentId(participant), ...about, to };
      return { type: 'ParticipantIdCorrected', data, sections: request };
    }
  }
}

/** Unknown factors come first. They and unknown levels are refused later. */
function inDesignOrder({ design: { factors } }: Life, changes: readonly LevelChange[]): LevelChange[] {
  const place = ({ factor }: LevelChange) => factors.findIndex(({ name }) => name === factor);
  return changes
    .map(({ factor, from, to }) => {
      const known = factors.find(({ name }) => name === factor);
      const asked = (level: string) => (known && askedLevel(known, level)) ?? level;
      return { factor, from: asked(from), to: asked(to) };
    })
    .sort((a, b) => place(a) - place(b));
}

function levelCounts({ design: { policies } }: Life): 'as-randomized' | 'as-corrected' {
  return policies.levelCounts;
}

/** The policy is only for people who were counted twice or never there. A wrong entry is always removed; the rest stay. */
function voidCounts({ design: { policies } }: Life, cause: VoidCause): 'kept' | 'removed' {
  if (cause === 'entry') return 'removed';
  const isNobody = cause === 'duplicate' || cause === 'never-enrolled';
  return isNobody ? policies.voidCounts : 'kept';
}

/** An id that nobody has stays as it is, and is refused later. */
function originalId(life: Life, id: string | undefined): string | undefined {
  return id === undefined ? undefined : (holderOf(life, id)?.participantId ?? id);
}

/** Whether the fact changes the counts of the urns. */
export function movesCounts({ design }: Life, fact: CorrectionFact, before: Allocated): boolean {
  return countsMoved(before, correctedBy(before, { ...fact, revision: -1 }, design.factors), design);
}

/** Why the fact is not possible; undefined if it is. */
export function correctionProblem(
  life: Life,
  fact: CorrectionFact,
  participant: Allocated,
): StudyOutcome | undefined {
  switch (fact.type) {
    case 'LevelsCorrected':
      return changesProblem(life, fact.data.changes, participant);
    case 'AllocationVoided':
      return voidProblem(life, fact.data, participant);
    case 'AllocationReinstated':
      return participant.corrected?.voided ? undefined : stale('the participant is not voided');
    case 'ParticipantIdCorrected':
      return idProblem(life, fact.data.to, participant);
  }
}

function changesProblem(
  { design: { factors } }: Life,
  changes: readonly LevelChange[],
  participant: Allocated,
): StudyOutcome | undefined {
  const current = currentLevels(participant);
  let staleChange: StudyOutcome | undefined;
  for (const [i, { factor, from, to }] of changes.entries()) {
    const index = factors.findIndex(({ name }) => name === factor);
    if (index < 0) return impossible(`changes[${i}].factor`, 'the study has no such factor');
    if (factors[index]?.isRetired) return impossible(`changes[${i}].factor`, 'the factor is retired');
    if (changes[i - 1]?.factor === factor)
      return impossible(`changes[${i}].factor`, 'it is changed twice at once');
    if (!factors[index]?.levels.includes(to))
      return impossible(`changes[${i}].to`, 'the factor has no such level');
    if (from === to) return impossible(`changes[${i}].to`, 'it is the same level as from');
    const level = current[index] ?? '';
    if (from !== level)
      staleChange ??= stale(`${factor} is ${JSON.stringify(level)} now`, `changes[${i}].from`);
  }
  return staleChange;
}

function voidProblem(
  life: Life,
  { cause, duplicateOf }: Of<'AllocationVoided'>['data'],
  { participantId, corrected, forced }: Allocated,
): StudyOutcome | undefined {
  if (cause === 'entry' && !forced)
    return impossible('cause', 'the allocation was not entered by hand, so it cannot be entered wrongly');
  if (duplicateOf !== undefined) {
    if (cause !== 'duplicate') return impossible('duplicateOf', 'only a duplicate has it');
    if (duplicateOf === participantId) return impossible('duplicateOf', 'it is the same participant');
    if (!life.enrolled.get(duplicateOf)) return impossible('duplicateOf', 'there is no such participant');
    if (isDuplicateOf(life, duplicateOf, participantId))
      return impossible('duplicateOf', 'that participant is voided as a duplicate of this one');
  }
  const { voided } = corrected ?? {};
  return voided && stale(`the participant is voided already (${voided.cause}, revision ${voided.revision})`);
}

/** Whether one is voided as a duplicate of the other, or of a duplicate of the other. */
function isDuplicateOf(life: Life, id: string, other: string): boolean {
  const of = life.enrolled.get(id)?.corrected?.voided?.duplicateOf;
  return of !== undefined && (of === other || isDuplicateOf(life, of, other));
}

function idProblem(life: Life, to: string, participant: Allocated): StudyOutcome | undefined {
  if (to === currentId(participant)) return stale('the participant has this id already');
  const holder = holderOf(life, to);
  // Their own former id is free for them.
  return holder && holder.participantId !== participant.participantId
    ? impossible('to', 'another participant has, or had, this id')
    : undefined;
}

function stale(why: string, field?: string): StudyOutcome {
  return { type: 'stale', why, ...(field !== undefined && { field }) };
}
