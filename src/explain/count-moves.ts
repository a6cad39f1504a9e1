/** Which corrections changed the counts of the urns. */
import type { Level, StudyConfiguration } from '../../events/study.ts';
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
  /** Levels whose urns it changed. */
  readonly levels: readonly Level[];
}

/**
 * @param corrections in order
 * @param enrolled the participants as they were enrolled, or as they are after all of these corrections
 */
export function countMoves(
  corrections: readonly WholeCorrection[],
  enrolled: (id: string) => Enrolled | undefined,
  factors: StudyConfiguration['factors'],
): CountMove[] {
  const now = new Map<string, Enrolled>();
  return corrections.flatMap((event) => {
    const { participantId } = event.data;
    const before = now.get(participantId) ?? asRandomized(enrolled(participantId));
    if (!before) return [];
    const after = correctedBy(before, event, factors);
    now.set(participantId, after);
    const levels = factors.flatMap(({ name }, i) => {
      const [from, to] = [countedLevels(before)?.[i], countedLevels(after)?.[i]];
      return from === to ? [] : [from, to].flatMap((level) => (level ? [{ factor: name, level }] : []));
    });
    return levels.length > 0 ? [{ revision: event.revision, type: event.type, participantId, levels }] : [];
  });
}

function asRandomized(participant: Enrolled | undefined): Enrolled | undefined {
  if (!participant) return undefined;
  const { participantId, levels, revision } = participant;
  return { participantId, levels, revision };
}
