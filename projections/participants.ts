/** The participants of a study, in order of randomization, as they are known now. */

import type { LogEvent } from '../events/record.ts';
import type { BgState, StudyConfiguration } from '../events/study.ts';
import { Balance } from './balance.ts';
import { correctedBy, type Enrolled, isCorrection, type WholeCorrection } from './enrolled.ts';
import type { Projection } from './projection.ts';

export interface Participant extends Enrolled {
  /** 1, 2, … in the order of randomization. */
  readonly sequence: number;
  readonly treatment: string;
  /** `YYYY-MM-DDTHH:MM:SS.sssZ` */
  readonly at: string;
  readonly user: string;
  /** Who used the key, as the client named them. */
  readonly onBehalfOf: string | undefined;
  readonly bgStateAfter: BgState;
}

/** Read only, but for the projection. */
export class Participants {
  readonly inOrder: Participant[] = [];
  /** The place in the list, by every id that a participant has or had. */
  readonly #places = new Map<string, number>();
  #factors: StudyConfiguration['factors'] = [];
  #balance: Balance | undefined;

  /** The participant who has, or had, this id. */
  find(id: string): Participant | undefined {
    const place = this.#places.get(id);
    return place === undefined ? undefined : this.inOrder[place];
  }

  /** Undefined before the registration. */
  get balance(): Balance | undefined {
    return this.#balance;
  }

  begin(configuration: StudyConfiguration): void {
    this.#factors = configuration.factors;
    this.#balance = new Balance(configuration);
  }

  enrol({ at, actor, data, revision, sections }: Extract<LogEvent, { type: 'ParticipantRandomized' }>): void {
    const place = this.inOrder.length;
    const participant = {
      participantId: data.participantId,
      levels: data.levels.map(({ level }) => level),
      treatment: sections.allocation.treatment,
      at,
      user: actor.user,
      onBehalfOf: 'keyId' in actor ? actor.onBehalfOf : undefined,
      bgStateAfter: sections.draw.bgStateAfter,
      revision,
      sequence: place + 1,
    };
    this.inOrder.push(participant);
    this.#places.set(participant.participantId, place);
    this.#balance?.add(participant);
  }

  correct(event: WholeCorrection): void {
    const place = this.#places.get(event.data.participantId) ?? -1;
    const before = this.inOrder[place];
    if (!before) return;
    const after = correctedBy(before, event, this.#factors);
    this.inOrder[place] = after;
    if (event.type === 'ParticipantIdCorrected') this.#places.set(event.data.to, place);
    this.#balance?.replace(before, after);
  }
}

export const participants: Projection<Participants> = {
  name: 'participants',
  stream: 'study',
  initial: () => new Participants(),
  apply(state, event) {
    if (event.type === 'ParticipantRandomized') state.enrol(event);
    else if (isCorrection(event)) state.correct(event);
    else if (event.type === 'StudyRegistered') state.begin(event.data.configuration);
    return state;
  },
};
