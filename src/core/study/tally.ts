/**
 * What happened in a study, counted once for everything that reports it: who was unblinded, what became of its packs, how many
 * entries of its lists are left. Nothing here says anything about arms.
 */
import type { RevealCategory, UnblindingWay } from '../../../events/unblinding.ts';
import type { ActName } from '../acts/acts.ts';
import { isUnblinding, type ParticipantEvents, type UnblindingEvent } from '../model/participants.ts';
import type { StudyState } from './fold.ts';

/** Who was unblinded, by the service or without it. */
export interface CodeBreak {
  readonly revision: number;
  /** When it was recorded. */
  readonly at: string;
  /** As randomized. Undefined for a pack that nobody had. */
  readonly participantId: string | undefined;
  /** Of the event that enrolled the participant. */
  readonly randomizedAt: number | undefined;
  /** Of the pack, if the code-break was asked for by it. */
  readonly code: string | undefined;
  readonly how:
    | { readonly type: 'revealed'; readonly category: RevealCategory }
    | {
        readonly type: 'reported';
        readonly way: UnblindingWay;
        readonly inadvertent: boolean;
        /** Revision of a code-break that was a mistake. */
        readonly revealedAt: number | undefined;
      };
  /** When the arm became known. */
  readonly knownAt: string;
  /** Whether the arm was shown before this could be recorded. */
  readonly isLate: boolean;
  readonly user: string;
  /** Undefined for somebody at the command line. */
  readonly keyId: string | undefined;
  readonly onBehalfOf: string | undefined;
  readonly reason: string;
  readonly requestedBy: string | undefined;
}

/** In the order of the records. */
export function codeBreaksIn({ inOrder }: ParticipantEvents): CodeBreak[] {
  return inOrder.filter(isUnblinding).map(codeBreakOf);
}

function codeBreakOf(event: UnblindingEvent): CodeBreak {
  const { revision, at, actor } = event;
  const { grounds } = event.sections;
  const common = {
    revision,
    at,
    participantId: event.data.participantId,
    randomizedAt: event.data.randomizedAt,
    code: event.type === 'AllocationRevealed' ? event.data.code : undefined,
    user: actor.user,
    keyId: 'keyId' in actor ? actor.keyId : undefined,
    onBehalfOf: 'keyId' in actor ? actor.onBehalfOf : undefined,
    reason: grounds.reason,
    requestedBy: grounds.requestedBy,
  };
  if (event.type === 'AllocationRevealed') {
    const { category, shownAt } = event.data;
    return {
      ...common,
      how: { type: 'revealed', category },
      knownAt: shownAt ?? at,
      isLate: shownAt !== undefined,
    };
  }
  const { how, inadvertent = false, revealedAt, occurredAt } = event.data;
  return {
    ...common,
    how: { type: 'reported', way: how, inadvertent, revealedAt },
    knownAt: occurredAt,
    isLate: false,
  };
}

/** How many codes were broken, by category, and how often an unblinding outside the service was reported. */
export function codeBreakNumbers(breaks: readonly CodeBreak[]) {
  const revealed: Record<string, number> = {};
  let unblindingReported = 0;
  for (const { how } of breaks)
    if (how.type === 'reported') unblindingReported++;
    else revealed[how.category] = (revealed[how.category] ?? 0) + 1;
  return {
    ...(Object.keys(revealed).length > 0 && { revealed }),
    ...(unblindingReported > 0 && { unblindingReported }),
  };
}

/** A summary in words: how many there are in all, and by category or cause. */
export function describeNumbers(numbers: Readonly<Record<string, number>>): string {
  const counts = Object.entries(numbers);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  return `${total}: ${counts.map(([category, count]) => `${count} ${category}`).join(', ')}`;
}

/** How many packs a study has, and what became of them. */
export interface PackNumbers {
  readonly registered: number;
  /** Including those that were replaced since. */
  readonly given: number;
  readonly replaced: number;
  readonly withdrawn: number;
  /** At visits. Absent if none was. */
  readonly dispensed?: number;
  readonly corrected?: number;
}

/** Undefined in a study without packs. */
export function packNumbers(state: StudyState, { inOrder }: ParticipantEvents): PackNumbers | undefined {
  if (state.status === 'unregistered' || state.packs.isEmpty()) return undefined;
  const { packs, given, withdrawn } = state;
  const numberOf = (name: ActName) => inOrder.filter(({ type }) => type === name).length;
  const dispensed = numberOf('PackDispensed');
  return {
    registered: [...packs.entries()].length,
    given: [...given.entries()].length,
    replaced: numberOf('CodeReplaced'),
    withdrawn: [...withdrawn.entries()].length,
    ...(dispensed > 0 && { dispensed, corrected: numberOf('DispensationCorrected') }),
  };
}

/** How many entries the lists of a study have, without those that an amendment voided. */
export interface EntryNumbers {
  readonly lists: number;
  /** By participants, or skipped. */
  readonly used: number;
  readonly left: number;
  /** Then nobody is randomized. */
  readonly skipOwed: boolean;
}

/** Says nothing about strata either. Undefined in a study that follows no list. */
export function entryNumbers(state: StudyState): EntryNumbers | undefined {
  if (state.status === 'unregistered' || state.methodDesign.method !== 'list') return undefined;
  const { entries } = state;
  const used = [...entries.strata.values()].reduce((sum, one) => sum + one.used, 0);
  return { lists: entries.lists, used, left: entries.leftInAll, skipOwed: entries.isSkipOwed };
}
