/**
 * One participant: as randomized, and as corrected since. Whatever shows, counts, limits or explains participants reads
 * this record, so a correction means the same everywhere.
 */
import type { VoidCause } from '../events/corrections.ts';
import type { ForcedCause } from '../events/from-outside.ts';
import type { LogEvent, PartialEvent } from '../events/record.ts';
import type { Level } from '../events/study.ts';
import type { Design, Renaming } from './design.ts';

/** In a list of levels, that of a factor that was retired before. No level has this name. */
export const NONE = '';

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

/** The pack that a participant has. */
export interface GivenPack {
  readonly code: string;
  /** What it holds; undefined if it is withheld. */
  readonly treatment: string | undefined;
  /** How many packs the participant had before in its place. */
  readonly replacements: number;
}

export interface DispensedPack {
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

export interface Corrected {
  /** The id in use. */
  readonly id: string;
  readonly levels: readonly string[];
  /** The levels at which the urns hold the participant, or did until they were removed. */
  readonly countedLevels: readonly string[];
  readonly voided?: Voided | undefined;
}

export interface Voided {
  /** Of the event that voided the participant. */
  readonly revision: number;
  readonly cause: VoidCause;
  /** Whether the urns count the participant no longer. */
  readonly isRemoved: boolean;
  /** The id, as randomized, of the participant who is the same person. */
  readonly duplicateOf: string | undefined;
}

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

/** One level per factor, in the order of the study, of a record, which leaves out retired factors. */
export function levelsByFactor(named: readonly Level[], factors: Design['factors']): readonly string[] {
  if (named.length === factors.length) return named.map(({ level }) => level);
  return factors.map(({ name }) => named.find(({ factor }) => factor === name)?.level ?? NONE);
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

export function currentId({ participantId, corrected }: Enrolled): string {
  return corrected?.id ?? participantId;
}

export function currentLevels({ levels, corrected }: Enrolled): readonly string[] {
  return corrected?.levels ?? levels;
}

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

/** How many are voided, by cause. */
export function voidedByCause(all: Iterable<Enrolled>): Partial<Record<VoidCause, number>> {
  const numbers: Partial<Record<VoidCause, number>> = {};
  for (const { corrected } of all) {
    const cause = corrected?.voided?.cause;
    if (cause !== undefined) numbers[cause] = (numbers[cause] ?? 0) + 1;
  }
  return numbers;
}

/** Whether the participant counts against the limits of the study. A person who was never there, or twice, does not. */
export function fillsPlace({ corrected }: Enrolled): boolean {
  const cause = corrected?.voided?.cause;
  return cause !== 'duplicate' && cause !== 'never-enrolled';
}

/** Whether somebody who was voided for this cause was there, and once: nobody else gets packs. */
export function getsPacks(voided: VoidCause | undefined): boolean {
  return voided !== 'duplicate' && voided !== 'never-enrolled' && voided !== 'entry';
}
