/** The participants of a study, in order of randomization, as they are known now. */

import type { Actor, LogEvent } from '../events/record.ts';
import type { BgState } from '../events/study.ts';
import { microsecondsOf } from '../src/base/instant.ts';
import { Balance } from './balance.ts';
import { type Design, designAfter, renamingsOf } from './design.ts';
import {
  correctedBy,
  type Enrolled,
  enrolledBy,
  isCorrection,
  underNewNames,
  type WholeCorrection,
  type WholeEnrolment,
  withPack,
} from './enrolled.ts';
import type { Projection } from './projection.ts';

type Of<T extends LogEvent['type']> = Extract<LogEvent, { type: T }>;

export interface Participant extends Enrolled {
  /** 1, 2, … in the order of the records. A wrong entry that was replaced leaves a gap. */
  readonly sequence: number;
  readonly treatment: string;
  /** `YYYY-MM-DDTHH:MM:SS.sssZ` */
  readonly at: string;
  readonly user: string;
  /** Who used the key, as the client named them. */
  readonly onBehalfOf: string | undefined;
  /**
   * After the draw; of an allocation that was entered by hand, the state then. Undefined if another system made the draw and
   * did not say.
   */
  readonly bgStateAfter: BgState | undefined;
  /** When the allocation was made, of one that was entered by hand. */
  readonly occurredAt?: string;
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
  /** Of the generator, after the last event. */
  #bgState: BgState | undefined;
  #sequence = 0;

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

  #factors(): Design['factors'] {
    return this.#design?.factors ?? [];
  }

  #recount(): void {
    if (!this.#design) return;
    this.#balance = new Balance(this.#design);
    for (const participant of this.inOrder) this.#balance.add(participant);
  }

  randomize(event: Of<'ParticipantRandomized'>): void {
    const { at, actor, sections } = event;
    const { participantId, levels, revision, pack } = enrolledBy(event, this.#factors());
    const { treatment } = sections.allocation;
    const { bgStateAfter } = sections.draw;
    const { user, onBehalfOf } = writerOf(actor);
    this.#bgState = bgStateAfter;
    const sequence = ++this.#sequence;
    // Without a spread, as in enrolledBy.
    const participant = {
      participantId,
      levels,
      revision,
      sequence,
      treatment,
      at,
      user,
      onBehalfOf,
      bgStateAfter,
    };
    this.#add(pack ? { ...participant, pack } : participant);
  }

  force(event: Of<'AllocationForced'>): void {
    const { at, actor, data } = event;
    const { occurredAt, replaces } = data;
    const ids = replaces === undefined ? [] : this.#remove(replaces);
    this.#enrol(event, { at, ...writerOf(actor), occurredAt, bgStateAfter: this.#bgState });
    for (const id of ids) this.#places.set(id, this.inOrder.length - 1);
  }

  import(event: Of<'ParticipantImported'>): void {
    const { at, data, sections } = event;
    const { original, row } = data;
    const instant = microsecondsOf(original.datetime);
    const when = instant === undefined ? at : new Date(Math.floor(instant / 1000)).toISOString();
    const bgStateAfter = sections.draw?.bgStateAfter ?? sections.state?.bgState;
    this.#enrol(event, {
      ...{ at: when, user: original.user, onBehalfOf: undefined, bgStateAfter },
      original: { datetime: original.datetime, row },
    });
  }

  /** The generator is restarted, or continues from another state. */
  reseed(bgState: BgState): void {
    this.#bgState = bgState;
  }

  /** Of an import that was given up. */
  clear(): void {
    this.inOrder = [];
    this.#places = new Map();
    this.#sequence = 0;
    this.#recount();
  }

  #enrol(event: WholeEnrolment, entered: Omit<Participant, keyof Enrolled | 'sequence' | 'treatment'>): void {
    const { treatment } = event.sections.allocation;
    this.#add({ ...enrolledBy(event, this.#factors()), treatment, ...entered, sequence: ++this.#sequence });
  }

  #add(participant: Participant): void {
    this.#places.set(participant.participantId, this.inOrder.length);
    this.inOrder.push(participant);
    this.#balance?.add(participant);
  }

  /** Removes a wrong entry, which another one replaces. @returns the ids that it has and had */
  #remove(revision: number): string[] {
    const removed = this.inOrder.findIndex((one) => one.revision === revision);
    this.inOrder = this.inOrder.filter((_, place) => place !== removed);
    const ids: string[] = [];
    for (const [id, place] of this.#places)
      if (place === removed) ids.push(id);
      else if (place > removed) this.#places.set(id, place - 1);
    this.#recount();
    return ids;
  }

  replacePack({ data }: Of<'CodeReplaced'>): void {
    const place = this.#places.get(data.participantId) ?? -1;
    const participant = this.inOrder[place];
    if (participant) this.inOrder[place] = withPack(participant, data.by);
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

function writerOf(actor: Actor): Pick<Participant, 'user' | 'onBehalfOf'> {
  return { user: actor.user, onBehalfOf: 'keyId' in actor ? actor.onBehalfOf : undefined };
}

export const participants: Projection<Participants> = {
  name: 'participants',
  stream: 'study',
  initial: () => new Participants(),
  apply(state, event) {
    switch (event.type) {
      case 'ParticipantRandomized':
        state.randomize(event);
        break;
      case 'AllocationForced':
        state.force(event);
        break;
      case 'ParticipantImported':
        state.import(event);
        break;
      case 'StudyRegistered':
        state.begin(event);
        state.reseed(event.sections.generator.bgState);
        break;
      case 'HistoryImported':
      case 'StudyRecovered':
        state.reseed(event.sections.generator.bgState);
        break;
      case 'HistoryImportEnded':
        if ('aborted' in event.data) state.clear();
        break;
      case 'CodeReplaced':
        state.replacePack(event);
        break;
      case 'StudyAmended':
        state.amend(event);
        break;
      default:
        if (isCorrection(event)) state.correct(event);
    }
    return state;
  },
};
