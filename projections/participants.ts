/** The participants of a study, in order of randomization, as they are known now. */

import type { LogEvent } from '../events/record.ts';
import type { BgState } from '../events/study.ts';
import { microsecondsOf } from '../src/base/instant.ts';
import { Balance } from './balance.ts';
import { type Design, designAfter, renamingsOf } from './design.ts';
import { correctedBy, type Enrolled, isCorrection, underNewNames, type WholeCorrection } from './enrolled.ts';
import type { Projection } from './projection.ts';

type Of<T extends LogEvent['type']> = Extract<LogEvent, { type: T }>;

export interface Participant extends Enrolled {
  /** 1, 2, … in the order of randomization. */
  readonly sequence: number;
  readonly treatment: string;
  /** `YYYY-MM-DDTHH:MM:SS.sssZ` */
  readonly at: string;
  readonly user: string;
  /** Who used the key, as the client named them. */
  readonly onBehalfOf: string | undefined;
  /** After the draw; undefined if another system made it and did not say. */
  readonly bgStateAfter: BgState | undefined;
  /** The row of an imported history, as the other system has it. */
  readonly original?: { readonly datetime: string; readonly row: number };
}

/** Read only, but for the projection. */
export class Participants {
  inOrder: Participant[] = [];
  /** The place in the list, by every id that a participant has or had. */
  #places = new Map<string, number>();
  #design: Design | undefined;
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

  begin(event: Of<'StudyRegistered'>): void {
    this.#design = designAfter(undefined, event);
    this.#recount();
  }

  amend(event: Of<'StudyAmended'>): void {
    if (!this.#design) return;
    const renamings = renamingsOf(event.data, this.#design);
    this.#design = designAfter(this.#design, event);
    if (renamings.length > 0) this.inOrder = this.inOrder.map((one) => underNewNames(one, renamings));
    this.#recount();
  }

  #recount(): void {
    if (!this.#design) return;
    this.#balance = new Balance(this.#design);
    for (const participant of this.inOrder) this.#balance.add(participant);
  }

  randomize({ at, actor, data, revision, sections }: Of<'ParticipantRandomized'>): void {
    const { treatment } = sections.allocation;
    const { bgStateAfter } = sections.draw;
    const onBehalfOf = 'keyId' in actor ? actor.onBehalfOf : undefined;
    this.#enrol(data, { treatment, at, user: actor.user, onBehalfOf, bgStateAfter, revision });
  }

  import({ at, data, revision, sections }: Of<'ParticipantImported'>): void {
    const { treatment } = sections.allocation;
    const { original, row } = data;
    const instant = microsecondsOf(original.datetime);
    const when = instant === undefined ? at : new Date(Math.floor(instant / 1000)).toISOString();
    const bgStateAfter = sections.draw?.bgStateAfter ?? sections.state?.bgState;
    this.#enrol(data, {
      ...{ treatment, at: when, user: original.user, onBehalfOf: undefined, bgStateAfter, revision },
      original: { datetime: original.datetime, row },
    });
  }

  /** Of an import that was given up. */
  clear(): void {
    this.inOrder = [];
    this.#places = new Map();
    this.#recount();
  }

  #enrol(
    data: Of<'ParticipantRandomized' | 'ParticipantImported'>['data'],
    drawn: Omit<Participant, 'participantId' | 'levels' | 'sequence' | 'corrected'>,
  ): void {
    const place = this.inOrder.length;
    const participant = {
      participantId: data.participantId,
      levels: data.levels.map(({ level }) => level),
      ...drawn,
      sequence: place + 1,
    };
    this.inOrder.push(participant);
    this.#places.set(participant.participantId, place);
    this.#balance?.add(participant);
  }

  correct(event: WholeCorrection): void {
    const place = this.#places.get(event.data.participantId) ?? -1;
    const before = this.inOrder[place];
    if (!before || !this.#design) return;
    const after = correctedBy(before, event, this.#design.factors);
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
    if (event.type === 'ParticipantRandomized') state.randomize(event);
    else if (event.type === 'ParticipantImported') state.import(event);
    else if (event.type === 'HistoryImportEnded' && 'aborted' in event.data) state.clear();
    else if (isCorrection(event)) state.correct(event);
    else if (event.type === 'StudyAmended') state.amend(event);
    else if (event.type === 'StudyRegistered') state.begin(event);
    return state;
  },
};
