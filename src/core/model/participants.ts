/**
 * The participants of a study. One of them is a record: as randomized, and as corrected since. Whatever shows, counts, limits
 * or explains participants reads this record, so a correction means the same everywhere. `Participants` holds all of them.
 * Below: what is true of one, who counts for what, their packs, and what happened to them after their randomization.
 *
 * Pages in browsers load this file: it needs neither Node nor schemas.
 */
import type { VoidCause } from '../../../events/corrections.ts';
import type { ForcedCause } from '../../../events/from-outside.ts';
import type { LogEvent, PartialEvent } from '../../../events/record.ts';
import type { BgState, Level } from '../../../events/study.ts';
import type { Design, Renaming } from './design.ts';
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
  /** How somebody learned the arm, also that of a wrong entry: each way once. Absent: nobody did. */
  readonly unblinded?: readonly string[];
  /** The row of an imported history, as the other system has it. */
  readonly original?: { readonly datetime: string; readonly row: number };
}

/** In place of a treatment. No treatment has this name. */
export const WITHHELD = '';

/** What an enrolment and its corrections say of a participant. */
export interface Enrolled {
  /** As randomized. */
  readonly participantId: string;
  /** As randomized: one level per factor, in the order of the study, or `NONE`. Levels have their present names. */
  readonly levels: readonly string[];
  /** Of the event that enrolled the participant. */
  readonly revision: number;
  /** Of an allocation that was made outside the service. */
  readonly forced?: { readonly isCounted: boolean; readonly cause: ForcedCause };
  /** Absent while everything is as randomized. */
  readonly corrected?: Corrected;
  /** Of the enrolment, in a study with packs. */
  readonly pack?: GivenPack;
  /** Of visits, in the order in which they were given out. Absent: none. */
  readonly dispensed?: readonly DispensedPack[];
}

/** In a list of levels, that of a factor that was retired before. No level has this name. */
export const NONE = '';

/** What has been corrected, and all that a correction could change. */
interface Corrected {
  /** The id in use. */
  readonly id: string;
  readonly levels: readonly string[];
  /** The levels at which the urns hold the participant, or did until they were removed. */
  readonly countedLevels: readonly string[];
  readonly voided?: Voided | undefined;
}

/** That a participant was randomized in error. */
export interface Voided {
  /** Of the event that voided the participant. */
  readonly revision: number;
  readonly cause: VoidCause;
  /** Whether the urns count the participant no longer. */
  readonly isRemoved: boolean;
  /** The id, as randomized, of the participant who is the same person. */
  readonly duplicateOf: string | undefined;
}

/** The pack that a participant has. */
interface GivenPack {
  readonly code: string;
  /** What it holds; undefined if it is withheld. */
  readonly treatment: string | undefined;
  /** How many packs the participant had before in its place. */
  readonly replacements: number;
}

/** A pack of a visit. */
interface DispensedPack {
  /** The pack now, in place of those that were replaced. */
  readonly code: string;
  /** The visit it is for. Undefined: the participant never got it, and nobody gets it any more. */
  readonly visit: string | undefined;
  /** When a pack was first given out here: `YYYY-MM-DDTHH:MM:SS.sssZ` */
  readonly at: string;
  readonly replacements: number;
}

/** A pack of a visit that the participant has. */
export type PresentPack = DispensedPack & { readonly visit: string };

/**
 * The participants of a study: by every id that they have or had, and in the order of their enrolment. Readers hold it while
 * the study goes on, so it stays the same object.
 */
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
    if (this.#list) this.#list[indexOfSequence(this.#list, after.sequence)] = after;
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
function indexOfSequence(list: readonly Participant[], sequence: number): number {
  let [low, high] = [0, list.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.sequence ?? 0) < sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The id in use. */
export function currentId({ participantId, corrected }: Enrolled): string {
  return corrected?.id ?? participantId;
}

/** One level per factor, as corrected. */
export function currentLevels({ levels, corrected }: Enrolled): readonly string[] {
  return corrected?.levels ?? levels;
}

/** The participant with something corrected. */
export function corrected<P extends Enrolled>(participant: P, change: Partial<Corrected>): P {
  const before = participant.corrected ?? asEnrolled(participant);
  return { ...participant, corrected: { ...before, ...change } };
}

/** As nobody has corrected it. */
export function asEnrolled({ participantId: id, levels }: Enrolled): Corrected {
  return { id, levels, countedLevels: levels };
}

/** The participant when levels have new names: the levels are the same. */
export function underNewNames<P extends Enrolled>(participant: P, renamings: readonly Renaming[]): P {
  const renamed = (levels: readonly string[]) => renamings.reduce(levelsRenamed, levels);
  const levels = renamed(participant.levels);
  const { corrected } = participant;
  if (!corrected) return levels === participant.levels ? participant : { ...participant, levels };
  return {
    ...participant,
    levels,
    corrected: {
      ...corrected,
      levels: renamed(corrected.levels),
      countedLevels: renamed(corrected.countedLevels),
    },
  };
}

function levelsRenamed(levels: readonly string[], { factor, from, to }: Renaming): readonly string[] {
  return levels[factor] === from ? levels.with(factor, to) : levels;
}

/** The levels as a record has them: without retired factors. */
export function namedLevels({ factors }: Pick<Design, 'factors'>, levels: readonly string[]): Level[] {
  const named = factors.map(({ name }, i) => ({ factor: name, level: levels[i] ?? NONE }));
  return factors.some(({ isRetired }) => isRetired) ? named.filter((_, i) => !factors[i]?.isRetired) : named;
}

/** One level per factor, in the order of the study, of a record, which leaves out retired factors. */
export function levelsByFactor(named: readonly Level[], factors: Design['factors']): readonly string[] {
  if (named.length === factors.length) return named.map(({ level }) => level);
  return factors.map(({ name }) => named.find(({ factor }) => factor === name)?.level ?? NONE);
}

// Who counts for what. Whatever counts participants, or measures a study against its target and limits, counts them here.

/** The levels at which the urns hold the participant; undefined if they do not. */
export function countedLevels(
  { levels, revision, corrected, forced }: Enrolled,
  { epochBegan }: Pick<Design, 'epochBegan'>,
): readonly string[] | undefined {
  if (revision < epochBegan || forced?.isCounted === false) return undefined;
  if (!corrected) return levels;
  return corrected.voided?.isRemoved ? undefined : corrected.countedLevels;
}

/** Whether the urns count otherwise after a correction. */
export function countsMoved(before: Enrolled, after: Enrolled, epoch: Pick<Design, 'epochBegan'>): boolean {
  return JSON.stringify(countedLevels(before, epoch)) !== JSON.stringify(countedLevels(after, epoch));
}

/** Whether the participant counts against the limits of the study. A person who was never there, or twice, does not. */
export function fillsPlace({ corrected }: Enrolled): boolean {
  const cause = corrected?.voided?.cause;
  return cause !== 'duplicate' && cause !== 'never-enrolled';
}

/** How many are voided, by cause. */
export function voidedByCause(all: Iterable<Enrolled>): Partial<Record<VoidCause, number>> {
  const numbers: Partial<Record<VoidCause, number>> = {};
  for (const { corrected } of all) {
    const cause = corrected?.voided?.cause;
    if (cause !== undefined) numbers[cause] = (numbers[cause] ?? 0) + 1;
  }
  return numbers;
}

export interface HeadCount {
  /** Everybody in the list, voided or not. A wrong entry that was replaced is no longer in it. */
  readonly enrolled: number;
  /** Of these, those who were randomized in error, for whatever cause. */
  readonly voided: number;
  /** Of these, those who fill a place of the target and of the limits. */
  readonly filled: number;
}

/** @param among a selection, such as those whom a key may know, or those with some level */
export function headCount(among: Iterable<Enrolled>): HeadCount {
  const counter = new HeadCounter();
  for (const participant of among) counter.add(participant);
  return counter.now();
}

export class HeadCounter implements HeadCount {
  enrolled = 0;
  voided = 0;
  filled = 0;

  add(participant: Enrolled): void {
    this.enrolled++;
    if (participant.corrected?.voided) this.voided++;
    if (fillsPlace(participant)) this.filled++;
  }

  now(): HeadCount {
    const { enrolled, voided, filled } = this;
    return { enrolled, voided, filled };
  }
}

// Their packs.

/** Whether somebody who was voided for this cause was there, and once: nobody else gets packs. */
export function getsPacks(voided: VoidCause | undefined): boolean {
  return voided !== 'duplicate' && voided !== 'never-enrolled' && voided !== 'entry';
}

/** The packs of visits that the participant has, in the order in which they were given out. */
export function presentPacks({ dispensed = [] }: Enrolled): readonly PresentPack[] {
  return dispensed.filter((pack): pack is PresentPack => pack.visit !== undefined);
}

/** The codes of all packs that the participant has. */
export function heldCodes(participant: Enrolled): readonly string[] {
  const { pack } = participant;
  return [...(pack ? [pack.code] : []), ...presentPacks(participant).map(({ code }) => code)];
}

/** How many packs the participant had, or was said to have had, beyond one for the enrolment and for each visit. */
export function furtherPacks({ pack, dispensed = [] }: Enrolled): number {
  const ofVisits = dispensed.map(({ visit, replacements }) => replacements + Number(visit === undefined));
  return ofVisits.reduce((sum, one) => sum + one, pack?.replacements ?? 0);
}

/** The participant with another pack in place of one that they have. */
export function withPack<P extends Enrolled>(participant: P, code: string, by: string): P {
  const replaced = <G extends GivenPack | DispensedPack>(given: G): G =>
    given.code === code ? { ...given, code: by, replacements: given.replacements + 1 } : given;
  const { pack, dispensed } = participant;
  return {
    ...participant,
    ...(pack && { pack: replaced(pack) }),
    ...(dispensed && { dispensed: dispensed.map(replaced) }),
  };
}

// The events about them.

/** The types of the events by which somebody becomes a participant. */
export const ENROLMENTS = ['ParticipantRandomized', 'ParticipantImported', 'AllocationForced'] as const;
type EnrolmentType = (typeof ENROLMENTS)[number];

/** An event by which somebody becomes a participant. */
export type EnrolmentEvent = Extract<PartialEvent, { type: EnrolmentType }>;

/** With all its sections. */
export type WholeEnrolment = Extract<LogEvent, { type: EnrolmentType }>;

export function isEnrolment<E extends { readonly type: string }>(
  event: E,
): event is Extract<E, { type: EnrolmentType }> {
  return ENROLMENTS.some((type) => type === event.type);
}

/** Whether somebody entered an allocation that was made outside the service. */
export function isForced<E extends { readonly type: string }>(
  event: E,
): event is Extract<E, { type: 'AllocationForced' }> {
  return event.type === 'AllocationForced';
}

/** Somebody learned the arm of a participant. */
export type UnblindingEvent = Extract<LogEvent, { type: 'AllocationRevealed' | 'UnblindingReported' }>;

/** An event about one participant, besides the one that enrolled them. A code-break can be about a pack that nobody had. */
export type ParticipantEvent =
  | Extract<LogEvent, { readonly data: { readonly randomizedAt: number } }>
  | UnblindingEvent;

/** What happened to the participants of a study after their randomization. */
export interface ParticipantEvents {
  /** In the order of the records. */
  readonly inOrder: ParticipantEvent[];
  /**
   * By the revision of the event that enrolled the participant. Most have no such event, and are not in the map; nor are those who
   * came with an import that was given up.
   */
  readonly byEnrolment: Map<number, ParticipantEvent[]>;
}

/**
 * Everything that happened to one participant, in the order of the records. Wrong entries that others have replaced are
 * part of it: they are about the same person.
 * @param revision of the event that enrolled the participant
 */
export async function historyOf(
  { byEnrolment }: Pick<ParticipantEvents, 'byEnrolment'>,
  revision: number,
  read: (revision: number) => Promise<LogEvent | undefined>,
): Promise<(WholeEnrolment | ParticipantEvent)[]> {
  const enrolling = await read(revision);
  if (!enrolling || !isEnrolment(enrolling)) throw new Error('a participant without a record');
  const events = [enrolling, ...(byEnrolment.get(revision) ?? [])];
  const replaced = 'replaces' in enrolling.data ? enrolling.data.replaces : undefined;
  return replaced === undefined ? events : [...(await historyOf({ byEnrolment }, replaced, read)), ...events];
}
