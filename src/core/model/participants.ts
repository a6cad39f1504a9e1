/** The participants of a study: by every id that they have or had, and in the order of their enrolment. */
import type { BgState } from '../../../events/study.ts';
import type { Renaming } from '../../../projections/design.ts';
import { currentId, type Enrolled, underNewNames } from '../../../projections/enrolled.ts';
import { ForkableMap } from './forkable-map.ts';

/** One participant, as known now. */
export interface Participant extends Enrolled {
  /** 1, 2, … in the order of the records. A wrong entry that was replaced leaves a gap. */
  readonly sequence: number;
  /** `WITHHELD` if it is not included in what was read. */
  readonly treatment: string;
  /** Index of the slot in the design of the enrolment; -1 if it is withheld. */
  readonly slot: number;
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

/** In place of a treatment. No treatment has this name. */
export const WITHHELD = '';

/** Readers hold it while the study goes on, so it stays the same object. */
export class Participants {
  /** By the id as randomized. */
  #enrolled: ForkableMap<string, Participant>;
  /** All other ids that participants have or had, with the ids as randomized. */
  #renamed: ForkableMap<string, string>;
  /** In order. Made when somebody asks for it, and kept up to date from then on. */
  #list: Participant[] | undefined;
  #last: number;

  constructor(parent?: Participants) {
    this.#enrolled = parent ? parent.#enrolled.fork() : new ForkableMap();
    this.#renamed = parent ? parent.#renamed.fork() : new ForkableMap();
    this.#last = parent ? parent.#last : 0;
  }

  /** @param id as randomized */
  get(id: string): Participant | undefined {
    return this.#enrolled.get(id);
  }

  /** The participant who has, or had, this id. */
  find(id: string): Participant | undefined {
    return this.#enrolled.get(id) ?? this.#enrolled.get(this.#renamed.get(id) ?? '');
  }

  /** In the order of their enrolment. It must not be changed. */
  get inOrder(): readonly Participant[] {
    this.#list ??= [...this.all()].sort((a, b) => a.sequence - b.sequence);
    return this.#list;
  }

  /** In any order. They must not be changed while they are read. */
  *all(): Iterable<Participant> {
    for (const [, participant] of this.#enrolled.entries()) yield participant;
  }

  isEmpty(): boolean {
    return this.#enrolled.isEmpty();
  }

  /** The place of the next one. */
  get next(): number {
    return this.#last + 1;
  }

  /** Adds one, in place of a wrong entry if there is one with the same id. */
  add(participant: Participant): void {
    const { participantId, sequence } = participant;
    if (this.#enrolled.get(participantId)) this.#list = undefined;
    else this.#list?.push(participant);
    this.#enrolled.set(participantId, participant);
    this.#last = sequence;
  }

  replace(after: Participant): void {
    const { participantId } = after;
    this.#enrolled.set(participantId, after);
    const id = currentId(after);
    if (id !== participantId) this.#renamed.set(id, participantId);
    if (this.#list) this.#list[placeOf(this.#list, after.sequence)] = after;
  }

  /** Levels have new names. */
  rename(renamings: readonly Renaming[]): void {
    if (renamings.length === 0) return;
    for (const participant of [...this.all()]) {
      const renamed = underNewNames(participant, renamings);
      if (renamed !== participant) this.#enrolled.set(renamed.participantId, renamed);
    }
    this.#list = undefined;
  }

  /** Of an import that was given up. */
  clear(): void {
    this.#enrolled = new ForkableMap();
    this.#renamed = new ForkableMap();
    this.#list = undefined;
    this.#last = 0;
  }

  /** They may be changed and dropped. The original must not change while they are in use. */
  fork(): Participants {
    return new Participants(this);
  }
}

/** The index of the one with this sequence. */
function placeOf(list: readonly Participant[], sequence: number): number {
  let [low, high] = [0, list.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.sequence ?? 0) < sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}
