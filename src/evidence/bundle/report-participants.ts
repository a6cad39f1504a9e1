/** The participants of a bundle's report, as the records that were read leave them in the model. */

import { Balance, type BalanceView } from '../../core/model/balance.ts';
import type { Design } from '../../core/model/design.ts';
import type { Model } from '../../core/model/model.ts';
import type { EnrolmentEvent } from '../../core/model/participants.ts';
import { currentId, type Participant, voidedByCause, WITHHELD } from '../../core/model/participants.ts';

export interface ReportedParticipant extends Participant {
  /** How somebody learned the treatment: each way once. */
  readonly revealed: readonly string[];
}

/** The numbers of a CONSORT flow diagram, of all participants or of one arm. */
export interface Flow {
  readonly randomized: number;
  /** How many of them are voided, by cause. */
  readonly voided: Readonly<Record<string, number>>;
  /** How many of them were allocated outside the service, and entered by hand. */
  readonly forced: number;
  /** How many of them were unblinded, by the service or without it. */
  readonly unblinded: number;
}

/** Of participants whose treatments are sealed, or do not matter. */
const ALL = 'all';

export class ReportParticipants {
  readonly #model: Model;
  /** By the id as randomized. */
  readonly #revealed = new Map<string, readonly string[]>();
  /** Numbers of the amendments with which the urns began anew. */
  readonly restarts: number[] = [];

  /** @param model as it is folded further on */
  constructor(model: Model) {
    this.#model = model;
  }

  /** In force after the last event. */
  get design(): Design {
    return this.#model.design;
  }

  /** Whether the design in force differs from the registered one. */
  get isAmended(): boolean {
    return this.design !== this.#model.designs[0];
  }

  get count(): number {
    return this.#model.participants.inOrder.length;
  }

  /** @param id as randomized */
  get(id: string): ReportedParticipant | undefined {
    const participant = this.#model.participants.get(id);
    return participant && this.#reported(participant);
  }

  #reported(participant: Participant): ReportedParticipant {
    return { ...participant, revealed: this.#revealed.get(participant.participantId) ?? [] };
  }

  /** The cause, and whose duplicate it is, by the id in use. */
  whyVoided({
    cause,
    duplicateOf,
  }: {
    readonly cause: string;
    readonly duplicateOf?: string | undefined;
  }): string {
    const original = duplicateOf === undefined ? undefined : this.#model.participants.get(duplicateOf);
    return original ? `${cause} of ${currentId(original)}` : cause;
  }

  /** By arm. Zeros if the treatments are sealed. */
  get byArm(): BalanceView {
    return this.#balance(this.design, ({ treatment }) => treatment);
  }

  /** The same, of all arms together: in one column. */
  get everybody(): BalanceView {
    return this.#balance({ ...this.design, treatments: [ALL], slots: [ALL] }, () => ALL);
  }

  #balance(design: Design, armOf: (participant: Participant) => string): BalanceView {
    const balance = new Balance(design);
    for (const participant of this.#model.participants.inOrder) {
      const treatment = armOf(participant);
      if (treatment !== WITHHELD) balance.add({ ...participant, treatment });
    }
    return balance.view();
  }

  /** @param treatment of one arm alone */
  flow(treatment?: string): Flow {
    const all = this.#model.participants.inOrder.filter(
      (one) => (treatment ?? one.treatment) === one.treatment,
    );
    return {
      randomized: all.length,
      voided: voidedByCause(all),
      forced: all.filter(({ forced }) => forced).length,
      unblinded: all.filter(({ participantId }) => this.#revealed.has(participantId)).length,
    };
  }

  /** Of an import that was given up. */
  clear(): void {
    this.#revealed.clear();
  }

  /** A wrong entry makes way for the one that replaces it. */
  enrol({ data }: EnrolmentEvent): void {
    this.#revealed.delete(data.participantId);
  }

  /** @param id as randomized */
  reveal(id: string, way: string): void {
    const ways = this.#revealed.get(id) ?? [];
    if (this.#model.participants.get(id) && !ways.includes(way)) this.#revealed.set(id, [...ways, way]);
  }
}
