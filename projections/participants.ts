/** The participants of a study, in order of randomization. */

import type { LogEvent } from '../events/record.ts';
import type { BgState } from '../events/study.ts';
import type { Projection } from './projection.ts';

export interface Participant {
  readonly participantId: string;
  /** One level per factor, in the order of the configuration. */
  readonly levels: readonly string[];
  readonly treatment: string;
  /** `YYYY-MM-DDTHH:MM:SS.sssZ` */
  readonly at: string;
  readonly user: string;
  readonly bgStateAfter: BgState;
  readonly revision: number;
}

export interface Participants {
  readonly inOrder: Participant[];
  readonly byId: Map<string, Participant>;
}

export const participants: Projection<Participants> = {
  name: 'participants',
  stream: 'study',
  initial: () => ({ inOrder: [], byId: new Map() }),
  apply(state, event) {
    if (event.type !== 'ParticipantRandomized') return state;
    const participant = participantOf(event);
    state.inOrder.push(participant);
    state.byId.set(participant.participantId, participant);
    return state;
  },
};

function participantOf(event: Extract<LogEvent, { type: 'ParticipantRandomized' }>): Participant {
  return {
    participantId: event.data.participantId,
    levels: event.data.levels.map(({ level }) => level),
    treatment: event.sections.allocation.treatment,
    at: event.at,
    user: event.actor.user,
    bgStateAfter: event.sections.draw.bgStateAfter,
    revision: event.revision,
  };
}
