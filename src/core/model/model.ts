/**
 * The model of a study: the one value that everything reads. Decisions, lists, reports and replays select from it. It is what
 * the events so far come to (src/core/study/fold.ts): folding one changes it in place, and whoever decides or replays works on
 * a fork. What is withheld from a reader stays unknown in it.
 *
 * Below it: what a decision asks of it, and how it knows that a request was answered before.
 */
import { hash } from 'node:crypto';
import type { StudyFact } from '../../../events/catalogue.ts';
import type { SourceFormat } from '../../../events/from-outside.ts';
import { canonicalJson } from '../../../events/record.ts';
import type { BgState, MethodParameters, StudyConfiguration } from '../../../events/study.ts';
import { counted, plural } from '../../base/wording.ts';
import { type Counts, type ListEntries, NO_LEVEL } from '../methods/memory.ts';
import type { Memory } from '../methods/method.ts';
import type { Balance } from './balance.ts';
import { type Design, levelNow } from './design.ts';
import type { ForkableMap } from './forkable-map.ts';
import type { Steps } from './import-proof.ts';
import type { Life, Voiding } from './life.ts';
import type { FilledPlaces } from './limits.ts';
import type { MethodDesign } from './method-of.ts';
import type { Members, Status, StudyOutcome } from './outcomes.ts';
import type { PackInventory } from './packs.ts';
import { type Enrolled, NONE, type ParticipantEvents, type Participants } from './participants.ts';

/** A study, as its events so far leave it. */
export interface Model extends Memory, PackInventory {
  status: Status;
  registered: RegisteredStudy;
  /** In force. */
  design: Design;
  /** Every design that the study has had, in order. The last one is in force. */
  designs: readonly Design[];
  /** What an allocation sees of the design. */
  methodDesign: MethodDesign;
  /** The index of each level, per factor. */
  levelIndexes: readonly ReadonlyMap<string, number>[];
  /** The latest instant of all events so far. */
  latestAt: string;
  /** Revision of the last event that is not about a single participant or pack. */
  lastStudyWide: number;
  /** When treatments took nobody, in order. */
  closings: readonly Closing[];
  /** When the study was last closed. */
  closedAt?: string;
  /** Number of the log's recovery after which the generator was last restarted; 0 if it never was. */
  recovery: number;
  readonly participants: Participants;
  /** By `requestKey`. */
  readonly requests: ForkableMap<string, AnsweredRequest>;
  /** How many participants each limit counts. */
  filled: FilledPlaces;
  /** Set while a history is imported. */
  importing?: RunningImport | undefined;
  imported?: SealedImport | undefined;
  readonly entries: ListEntries;
  /** Whether it ever declared a visit, or gave out a pack at one. Without, nothing shows that there can be visits. */
  hasVisits: boolean;
  counts: Counts;
  /** State of the generator at the registration. */
  readonly seedState: BgState | undefined;
  /** After the last allocation. */
  bgState: BgState | undefined;
  /** Code-breaks in order. */
  reveals: readonly {
    readonly reveal: string;
    readonly revision: number;
    /** Undefined for a pack that nobody had. */
    readonly participantId: string | undefined;
  }[];
  /** What happened besides allocations, counted. */
  life: Life;
  /** The last voiding of each participant, by the revision of the event that enrolled them. */
  voidings: ForkableMap<number, Voiding>;
  /** What only lists show. A fork has none. */
  shown?: ListState | undefined;
}

/** A study's configuration as registered, and whether it takes participants. */
export interface RegisteredStudy {
  readonly studyId: string;
  readonly configuration: StudyConfiguration;
  /** What of the method nobody at a site may know: it is only for `audit`. */
  readonly parameters: MethodParameters;
  /** Decimal. Anyone who knows it can compute every assignment, so it is only for `audit`. */
  readonly seed: string;
  readonly seedSource: 'configured' | 'drawn';
  readonly seedWeak: boolean;
  readonly registeredAt: string;
  /** Recoveries of the log from a backup. Each one restarted the generator with fresh entropy. */
  readonly recoveries: readonly StudyRecovery[];
  /** Why the study takes no participants, and since when; undefined if it is open. */
  readonly halt: Halt | undefined;
  /** The same before the import that is under way. */
  readonly before?: Halt | undefined;
  /** How many participants of a history have arrived or will, and how many of them were drawn again. */
  readonly imported?:
    | { readonly redrawn: number; readonly unproven: number; readonly at: string }
    | undefined;
}

/** Why a study takes no participants, and since when. */
export interface Halt {
  readonly state: 'paused' | 'closed' | 'importing';
  readonly reason: string;
  readonly at: string;
}

/** A recovery of the log from a backup. */
interface StudyRecovery {
  readonly recovery: number;
  readonly at: string;
  /** Number of the study's records at the time. */
  readonly kept: number;
  /** Number of records known to have been there before; undefined if nothing is known. */
  readonly signed: number | undefined;
}

/** A time between two instants in which a treatment took nobody. */
export interface Closing {
  readonly treatment: string;
  /** `YYYY-MM-DDTHH:MM:SS.sssZ`. For a treatment that was added later: the empty text, which is before every instant. */
  readonly from: string;
  /** Undefined while it is closed. */
  readonly to: string | undefined;
}

/** What was asked with an idempotency key. */
interface AnsweredRequest {
  readonly revision: number;
  /** For a randomization, as it was asked for: a later correction changes neither the id nor the levels. */
  readonly enrolled?: Enrolled;
  /** For any other request: its digest (`digestOf`). */
  readonly content?: string;
  /** What the act recorded in the clear, such as a pack. That may have been replaced since. */
  readonly data?: Members;
}

/** An import that is under way. */
interface RunningImport {
  readonly import: string;
  readonly rows: number;
  /** How many rows must be drawn again. */
  readonly toRedraw: number;
  /** How many rows are in, and how many of these were drawn again. */
  readonly taken: number;
  readonly redrawn: number;
  readonly last: RowPlace | undefined;
  readonly statusBefore: Status;
  /** Whether the generator began anew in between. */
  readonly isRecovered: boolean;
}

/** The place of a row: by its instant, in microseconds, then by its number in the file. */
export interface RowPlace {
  readonly instant: number;
  readonly row: number;
}

/** The sealed part of an import that is under way. */
interface SealedImport {
  /** The digest of the file. */
  readonly sha256: string;
  readonly format: SourceFormat;
  readonly isFresh: boolean;
  readonly isSeedKnown: boolean;
  readonly treatmentMap: readonly {
    readonly from: string;
    readonly to: string;
    readonly slot?: number | undefined;
  }[];
  /** The state of the first new draw. */
  readonly generator: BgState;
  readonly steps: Steps;
  /** The first row of the largest instant. */
  readonly latest?: { readonly instant: number; readonly bgState: BgState | undefined };
}

/** Kept for lists, and for nothing else. */
interface ListState {
  readonly events: ParticipantEvents;
  balance: Balance;
}

/** A recovery in words, for people. */
export function describeRecovery({ recovery, at, kept, signed }: StudyRecovery): string {
  const lost =
    signed !== undefined && signed > kept
      ? `at least ${counted(signed - kept, 'record')} after the first ${kept} ${plural(signed - kept, 'was', 'were')} lost`
      : 'no record of this study is known to be lost';
  return `recovery ${recovery} of the log, ${at}: ${lost}; the generator began anew`;
}

/**
 * A model to decide against, or to replay with: it may be changed and dropped. The original must not change while the fork is
 * in use.
 */
export function forkOf(model: Model): Model {
  const { participants, requests, given, packs, withdrawn, free, counts, blocks, entries, voidings } = model;
  return {
    ...model,
    ...{ participants: participants.fork(), requests: requests.fork(), given: given.fork() },
    ...{ packs: packs.fork(), withdrawn: withdrawn.fork(), free: free.fork(), counts: counts.fork() },
    ...{ blocks: blocks.fork(), entries: entries.fork(), voidings: voidings.fork() },
    shown: undefined,
  };
}

/** @throws Error if the generator is withheld */
export function generatorOf({ bgState }: Pick<Model, 'bgState'>): BgState {
  if (!bgState) throw new Error('the state of the generator is withheld');
  return bgState;
}

/** @throws RangeError when a level is not in the design */
export function levelIndexes(model: Pick<Model, 'levelIndexes'>, levels: readonly string[]): number[] {
  return levels.map((level, factor) => {
    if (level === NONE) return NO_LEVEL;
    const index = model.levelIndexes[factor]?.get(level);
    if (index === undefined) throw new RangeError(`level of factor ${factor} is not in the design`);
    return index;
  });
}

/** The place of a level in its factor, which no amendment changes; -1 if there is none. */
export function levelPlace(factor: string, level: string, { factors }: Pick<Design, 'factors'>): number {
  const known = factors.find(({ name }) => name === factor);
  return known?.levels.indexOf(levelNow(known, level)) ?? -1;
}

/** A command with an id or levels that the submitter has compared with the design. */
export interface JudgedByDesign {
  /** Number of the last amendment of that design. The command is refused if there has been another since. */
  readonly amendment?: number | undefined;
}

/** Whether the design has changed since the command was judged by it. */
export function isAmendedSince({ design }: Pick<Model, 'design'>, { amendment }: JudgedByDesign): boolean {
  return amendment !== undefined && amendment !== design.amendment;
}

/** A command that a client may repeat. */
export interface Repeatable {
  /** The user who asks. Different users can use the same idempotency key without a clash. */
  readonly user: string;
  readonly idempotencyKey?: string | undefined;
}

/** The answer to a request whose idempotency key was used before. @param digest of what is asked for now */
export function repeated(
  model: Pick<Model, 'requests'>,
  by: Repeatable,
  digest: () => string,
): StudyOutcome | undefined {
  const earlier = answeredBefore(model, by);
  if (!earlier) return undefined;
  return earlier.content === digest()
    ? { type: 'done-before', revision: earlier.revision, data: earlier.data ?? {} }
    : { type: 'idempotency-key-reused' };
}

/** What the idempotency key was used for before; undefined if it was not. */
export function answeredBefore({ requests }: Pick<Model, 'requests'>, { user, idempotencyKey }: Repeatable) {
  return idempotencyKey === undefined ? undefined : requests.get(requestKey(user, idempotencyKey));
}

/** The key of a request in `requests`. */
export function requestKey(user: string, idempotencyKey: string): string {
  return JSON.stringify([user, idempotencyKey]);
}

/**
 * What makes two requests the same, as a digest, which is shorter than a note.
 * @param asked an undefined member is left out
 */
export function digestOf(type: StudyFact['type'], asked: Members): string {
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  return hash('sha256', canonicalJson([type, Object.fromEntries(given)]));
}

/** The section of a fact that holds the idempotency key of its request. */
export function requestSection({ idempotencyKey }: Repeatable) {
  return idempotencyKey === undefined ? {} : { request: { idempotencyKey } };
}
