/**
 * The participants of a bundle's report, as the records that were read leave them. There is one entry for each, since a
 * correction can come at any time: some 200 bytes for a participant with three factors.
 */
import type { PartialEvent } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import { Balance, type BalanceView } from '../../projections/balance.ts';
import { type Design, designAfter, registeredDesign, renamingsOf } from '../../projections/design.ts';
import {
  type CorrectionEvent,
  correctedBy,
  currentId,
  type Enrolled,
  type EnrolmentEvent,
  enrolledBy,
  underNewNames,
  voidedByCause,
  withPack,
} from '../../projections/enrolled.ts';

export interface Reported extends Enrolled {
  /** Undefined if it is sealed. */
  readonly treatment: string | undefined;
  /** How somebody learned the treatment: each way once. */
  readonly revealed: readonly string[];
  /** Of an allocation that was entered by hand. */
  readonly outside?: { readonly cause: string; readonly occurredAt: string };
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
const NOT_REVEALED: readonly string[] = [];

/** The design as if there were one arm. */
function together(design: Design): Design {
  return { ...design, treatments: [ALL], slots: [ALL] };
}

export class ReportParticipants {
  readonly #registered: Design;
  #design: Design;
  /** By the id as randomized. */
  readonly #all = new Map<string, Reported>();
  #byArm: Balance;
  #everybody: Balance;
  /** Numbers of the amendments with which the urns began anew. */
  readonly restarts: number[] = [];

  constructor(configuration: StudyConfiguration) {
    this.#registered = registeredDesign(configuration);
    this.#design = this.#registered;
    this.#byArm = new Balance(this.#design);
    this.#everybody = new Balance(together(this.#design));
  }

  /** In force after the last event. */
  get design(): Design {
    return this.#design;
  }

  /** Whether the design in force differs from the registered one. */
  get isAmended(): boolean {
    return this.#design !== this.#registered;
  }

  get count(): number {
    return this.#all.size;
  }

  /** @param id as randomized */
  get(id: string): Reported | undefined {
    return this.#all.get(id);
  }

  /** The cause, and whose duplicate it is, by the id in use. */
  whyVoided({
    cause,
    duplicateOf,
  }: {
    readonly cause: string;
    readonly duplicateOf?: string | undefined;
  }): string {
    const original = duplicateOf === undefined ? undefined : this.#all.get(duplicateOf);
    return original ? `${cause} of ${currentId(original)}` : cause;
  }

  /** By arm. Zeros if the treatments are sealed. */
  get byArm(): BalanceView {
    return this.#byArm.view();
  }

  /** The same, of all arms together: in one column. */
  get everybody(): BalanceView {
    return this.#everybody.view();
  }

  /** @param treatment of one arm alone */
  flow(treatment?: string): Flow {
    const all = [...this.#all.values()].filter((one) => (treatment ?? one.treatment) === one.treatment);
    return {
      randomized: all.length,
      voided: voidedByCause(all),
      forced: all.filter(({ forced }) => forced).length,
      unblinded: all.filter(({ revealed }) => revealed.length > 0).length,
    };
  }

  /** Of an import that was given up. */
  clear(): void {
    this.#all.clear();
    this.#recount();
  }

  /** A reopening can name another version of the protocol. */
  amend(event: Extract<PartialEvent, { type: 'StudyAmended' | 'StudyReopened' }>): void {
    const before = this.#design;
    this.#design = designAfter(before, event) ?? before;
    if (event.type !== 'StudyAmended') return;
    if (event.data.history === 'restart') this.restarts.push(event.data.amendment);
    const renamings = renamingsOf(event.data, before);
    if (renamings.length > 0)
      for (const [id, participant] of this.#all) this.#all.set(id, underNewNames(participant, renamings));
    this.#recount();
  }

  #recount(): void {
    this.#byArm = new Balance(this.#design);
    this.#everybody = new Balance(together(this.#design));
    for (const participant of this.#all.values()) this.#count(participant);
  }

  #count(participant: Reported): void {
    const { treatment } = participant;
    this.#everybody.add({ ...participant, treatment: ALL });
    if (treatment !== undefined) this.#byArm.add({ ...participant, treatment });
  }

  enrol(event: EnrolmentEvent): void {
    const enrolled = enrolledBy(event, this.#design.factors);
    const { factors } = this.#design;
    // The design's texts replace those of each record, so that they are in memory once.
    const levels = enrolled.levels.map(
      (level, i) => factors[i]?.levels.find((known) => known === level) ?? level,
    );
    const treatment = event.sections.allocation?.treatment;
    const { type, data } = event;
    const participant = {
      ...{ ...enrolled, levels, treatment, revealed: NOT_REVEALED },
      ...(type === 'AllocationForced' && { outside: { cause: data.cause, occurredAt: data.occurredAt } }),
    };
    const isReplacement = this.#all.delete(enrolled.participantId);
    this.#all.set(enrolled.participantId, participant);
    if (isReplacement) this.#recount();
    else this.#count(participant);
  }

  /** @returns the participant before and after; undefined if there is none */
  correct(event: CorrectionEvent): { readonly before: Reported; readonly after: Reported } | undefined {
    const before = this.#all.get(event.data.participantId);
    if (!before) return undefined;
    const after = correctedBy(before, event, this.#design.factors);
    this.#all.set(before.participantId, after);
    this.#everybody.replace({ ...before, treatment: ALL }, { ...after, treatment: ALL });
    const { treatment } = before;
    if (treatment !== undefined) this.#byArm.replace({ ...before, treatment }, { ...after, treatment });
    return { before, after };
  }

  /** @param id as randomized */
  replacePack(id: string, by: string): void {
    const participant = this.#all.get(id);
    if (participant) this.#all.set(id, withPack(participant, by));
  }

  /** @param id as randomized */
  reveal(id: string, way: string): void {
    const participant = this.#all.get(id);
    if (participant && !participant.revealed.includes(way))
      this.#all.set(id, { ...participant, revealed: [...participant.revealed, way] });
  }
}
