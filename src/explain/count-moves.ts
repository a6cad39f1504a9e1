/** Which corrections changed the counts of the urns. */
import type { Level } from '../../events/study.ts';
import { type Design, type Factor, levelNow } from '../../projections/design.ts';
import {
  type CorrectionEvent,
  correctedBy,
  countedLevels,
  type Enrolled,
  type WholeCorrection,
} from '../../projections/enrolled.ts';

/** A correction after which the urns count a participant otherwise. */
export interface CountMove {
  readonly revision: number;
  readonly type: CorrectionEvent['type'];
  /** As randomized. */
  readonly participantId: string;
  /** Levels whose urns it changed, by their present names. */
  readonly levels: readonly Level[];
}

/**
 * @param corrections in order
 * @param enrolled the participants as they were enrolled, or as they are after all of these corrections
 */
export function countMoves(
  corrections: readonly WholeCorrection[],
  enrolled: (id: string) => Enrolled | undefined,
  { factors, epochBegan }: Pick<Design, 'factors' | 'epochBegan'>,
): CountMove[] {
  const now = new Map<string, Enrolled>();
  return corrections.flatMap((event) => {
    const { participantId, randomizedAt } = event.data;
    const before = now.get(participantId) ?? asRandomized(enrolled(participantId));
    // A wrong entry that another one has replaced was removed before: it has left nothing in the urns.
    if (before?.revision !== randomizedAt) return [];
    const after = correctedBy(before, event, factors);
    now.set(participantId, after);
    const levels = factors.flatMap((factor, i) => {
      const [from, to] = [before, after].map((one) =>
        levelIn(factor, countedLevels(one, { epochBegan })?.[i]),
      );
      return from === to
        ? []
        : [from, to].flatMap((level) => (level ? [{ factor: factor.name, level }] : []));
    });
    return levels.length > 0 ? [{ revision: event.revision, type: event.type, participantId, levels }] : [];
  });
}

/** A correction says the names of its time. */
function levelIn(factor: Factor, level: string | undefined): string | undefined {
  return level === undefined ? undefined : levelNow(factor, level);
}

function asRandomized(participant: Enrolled | undefined): Enrolled | undefined {
  if (!participant) return undefined;
  const { participantId, levels, revision, forced } = participant;
  return { participantId, levels, revision, ...(forced && { forced }) };
}
