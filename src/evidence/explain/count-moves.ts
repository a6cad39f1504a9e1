/** Which corrections changed the counts of the urns. */
import { z } from 'zod';
import { actOf } from '../../core/acts/acts.ts';
import { type Design, type Factor, levelNow } from '../../core/model/design.ts';
import type { ParticipantEvent } from '../../core/model/participants.ts';
import { countedLevels, type Enrolled } from '../../core/model/participants.ts';

/** A correction after which the urns count a participant otherwise. */
export const CountMove = z.strictObject({
  revision: z.int(),
  type: z.string(),
  id: z.string().meta({ description: 'The corrected participant, by the id as randomized' }),
  // Those whose urns it changed, by their names at the time of the draw.
  levels: z.array(z.strictObject({ factor: z.string(), level: z.string() })),
});
export type CountMove = z.infer<typeof CountMove>;

/**
 * @param events about participants, in order
 * @param enrolled the participants as they were enrolled, or as they are after all of these corrections
 */
export function countMoves(
  events: readonly ParticipantEvent[],
  enrolled: (id: string) => Enrolled | undefined,
  { factors, epochBegan }: Pick<Design, 'factors' | 'epochBegan'>,
): CountMove[] {
  const now = new Map<string, Enrolled>();
  return events.flatMap((event) => {
    const { participantId = '', randomizedAt } = event.data;
    const act = actOf(event.type);
    if (act?.about !== 'participant' || !act.apply) return [];
    const before = now.get(participantId) ?? asRandomized(enrolled(participantId));
    // A wrong entry that another one has replaced was removed before: it has left nothing in the urns.
    if (!before || before.revision !== randomizedAt) return [];
    const after = act.apply(before, event, { factors });
    now.set(participantId, after);
    const levels = factors.flatMap((factor, i) => {
      const [from, to] = [before, after].map((one) =>
        levelIn(factor, countedLevels(one, { epochBegan })?.[i]),
      );
      return from === to
        ? []
        : [from, to].flatMap((level) => (level ? [{ factor: factor.name, level }] : []));
    });
    return levels.length > 0
      ? [{ revision: event.revision, type: event.type, id: participantId, levels }]
      : [];
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
