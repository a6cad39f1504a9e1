/** The participant that an event enrols. */

import { microsecondsOf } from '../../base/time.ts';
import type { Evidence } from '../methods/method.ts';
import type { Design } from '../model/design.ts';
import type { Model } from '../model/model.ts';
import type { EnrolmentEvent } from '../model/participants.ts';
import { isForced, levelsByFactor, type Participant, WITHHELD } from '../model/participants.ts';

export function enrolledIn(
  event: EnrolmentEvent,
  { design, participants, bgState }: Pick<Model, 'design' | 'participants' | 'bgState'>,
): Participant {
  const { at, actor, data, revision, sections } = event;
  const treatment = sections.allocation?.treatment;
  const participant = {
    participantId: data.participantId,
    levels: levelsByFactor(data.levels, design.factors),
    revision,
    sequence: participants.next,
    treatment: treatment ?? WITHHELD,
    slot: slotOf(event, design),
    at,
    user: actor.user,
    onBehalfOf: 'keyId' in actor ? actor.onBehalfOf : undefined,
    bgStateAfter: bgState,
  };
  // Most participants have no more than this, and a spread costs more than all the rest.
  if (event.type === 'ParticipantRandomized' && event.data.code === undefined) return participant;
  const code = event.type === 'ParticipantImported' ? undefined : event.data.code;
  return {
    ...participant,
    ...(code !== undefined && { pack: { code, treatment, replacements: 0 } }),
    ...(isForced(event) && {
      forced: { isCounted: event.data.counted, cause: event.data.cause },
      occurredAt: event.data.occurredAt,
    }),
    ...(event.type === 'ParticipantImported' && imported(event)),
  };
}

/** What the draw left behind, by whichever method; undefined without a draw, or if it is withheld. */
export function evidenceIn({ sections }: Pick<EnrolmentEvent, 'sections'>): Drawn | undefined {
  if ('pick' in sections && sections.pick) return sections.pick;
  return 'draw' in sections ? sections.draw : undefined;
}

type Drawn = NonNullable<Evidence['draw'] | Evidence['pick']>;

/** By whom and when, as the other system has it. */
function imported({ at, data, sections }: Extract<EnrolmentEvent, { type: 'ParticipantImported' }>) {
  const { original, row } = data;
  const instant = microsecondsOf(original.datetime);
  return {
    at: instant === undefined ? at : new Date(Math.floor(instant / 1000)).toISOString(),
    user: original.user,
    onBehalfOf: undefined,
    bgStateAfter: sections.draw?.bgStateAfter ?? sections.state?.bgState,
    original: { datetime: original.datetime, row },
  };
}

/**
 * Index of the participant's slot; -1 if it is withheld. It is recorded only if the treatment has several.
 * @throws RangeError when the treatment is not in the design
 */
function slotOf({ type, sections }: EnrolmentEvent, { slots }: Pick<Design, 'slots'>): number {
  const recorded = evidenceIn({ sections })?.slot;
  if (recorded !== undefined) return recorded;
  const { allocation } = sections;
  if (type !== 'ParticipantRandomized' && sections.allocation?.slot !== undefined)
    return sections.allocation.slot;
  if (!allocation) return -1;
  const slot = slots.indexOf(allocation.treatment);
  if (slot < 0) throw new RangeError('the treatment is not in the design');
  return slot;
}
