/** The last change to a study that a key may know of, so that its holder reads the study again. */
import type { LevelLimit } from '../../../events/access.ts';
import { type Design, levelNow } from '../model/design.ts';
import { isWithin } from '../model/key-limits.ts';
import type {
  Participant,
  ParticipantEvent,
  ParticipantEvents,
  Participants,
} from '../model/participants.ts';
import { currentLevels } from '../model/participants.ts';

export interface ChangedStudy {
  readonly revision: number;
  /** Revision of the last event that is not about a single participant. */
  readonly lastStudyWide: number;
  readonly design: Pick<Design, 'factors'>;
  readonly participants: Pick<Participants, 'inOrder' | 'find'>;
  readonly events: Pick<ParticipantEvents, 'inOrder'>;
}

/**
 * The revision of the last change that a key with these limits may know of. The key must not learn when people are
 * allocated elsewhere, so such a change does not count.
 * @param after the last change that is already known: nothing up to there is examined
 */
export function lastChange(
  study: ChangedStudy,
  where: readonly LevelLimit[] | undefined,
  after: number,
): number {
  if (!where) return study.revision;
  const { design, participants, events } = study;
  const isShown = (levels: readonly string[]) => isWithin(where, design, levels);
  const newest = Math.max(after, study.lastStudyWide);
  const enrolled = lastOf(participants.inOrder, newest, (one) => isShown(currentLevels(one)));
  return lastOf(events.inOrder, enrolled, (event) => {
    const participant = participants.find(event.data.participantId ?? '');
    // Without a participant, the event is about a pack that nobody had, or about an import that was given up.
    if (participant?.revision !== event.data.randomizedAt || participant === undefined) return false;
    return levelsAround(event, participant, design).some(isShown);
  });
}

/** The revision of the last wanted event after `after`; otherwise `after`. */
function lastOf<T extends { readonly revision: number }>(
  inOrder: readonly T[],
  after: number,
  isWanted: (one: T) => boolean,
): number {
  for (let i = inOrder.length - 1; i >= 0; i--) {
    const one = inOrder[i];
    if (!one || one.revision <= after) return after;
    if (isWanted(one)) return one.revision;
  }
  return after;
}

/** The levels now and, for a transfer, those before it: both sites hear of it. */
function levelsAround(
  event: ParticipantEvent,
  participant: Participant,
  { factors }: Pick<Design, 'factors'>,
): (readonly string[])[] {
  const now = currentLevels(participant);
  if (event.type !== 'LevelsCorrected') return [now];
  const { changes } = event.data;
  const before = factors.map((factor, i) => {
    const change = changes.find((one) => one.factor === factor.name);
    return change ? levelNow(factor, change.from) : (now[i] ?? '');
  });
  return [now, before];
}
