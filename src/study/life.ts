/**
 * The life of a study as far as it is in the clear: whether it takes participants, who is in it, whose code was broken.
 * Deciding such a command needs no sealed data (decide-life.ts), so the same rules check a bundle without arms.
 */
import { hash } from 'node:crypto';
import type { DesignChange } from '../../events/amendment.ts';
import type { LevelChange } from '../../events/corrections.ts';
import { canonicalJson, type PartialEvent } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import {
  type Design,
  designAfter,
  levelNow,
  registeredDesign,
  renamingsOf,
} from '../../projections/design.ts';
import {
  type CorrectionEvent,
  correctedBy,
  type Enrolled,
  type EnrolmentEvent,
  enrolledBy,
  withPack,
} from '../../projections/enrolled.ts';
import type { Status } from './acts.ts';
import type { Judged, Repeatable } from './commands.ts';
import { Enrolment } from './enrolment.ts';
import { ForkableMap } from './forkable-map.ts';
import { begun, type Importing, withRow } from './imports.ts';
import { type Filled, filledAfter, filledBy } from './limits.ts';

/** Used in place of an id. */
const NOBODY = '';

/** What was asked with an idempotency key. */
export interface Answered {
  readonly revision: number;
  /** For a randomization, as it was asked for: a later correction changes neither the id nor the levels. */
  readonly enrolled?: Enrolled;
  /** For any other request: the digest by which `contentOf` recognizes it, which is shorter than a note. */
  readonly content?: string;
  /** The pack that was given out instead of another one. It may have been replaced since. */
  readonly by?: string;
}

/** A participant, with the arm, which corrections of counts need. */
export interface Allocated extends Enrolled {
  /** Index of the slot in the design of the enrolment; -1 if it is withheld. */
  readonly slot: number;
}

/** A time between two instants in which a treatment took nobody. */
export interface Closing {
  readonly treatment: string;
  /** `YYYY-MM-DDTHH:MM:SS.sssZ`. For a treatment that was added later: the empty text, which is before every instant. */
  readonly from: string;
  /** Undefined while it is closed. */
  readonly to: string | undefined;
}

export interface Life {
  readonly status: Status;
  readonly design: Design;
  /** The latest instant of all events so far. Changed in place: a copy for each event would cost more. */
  latestAt: string;
  /** When treatments took nobody, in order. */
  readonly closings: readonly Closing[];
  /** When the study was last closed. */
  readonly closedAt?: string;
  /** Number of the log's recovery after which the generator was last restarted; 0 if it never was. */
  readonly recovery: number;
  /** By the id as randomized. */
  readonly enrolled: Enrolment;
  /** All other ids that participants have or had, with the ids as randomized. */
  readonly renamed: ForkableMap<string, string>;
  /** By `requestKey`. */
  readonly requests: ForkableMap<string, Answered>;
  readonly filled: Filled;
  /** Set while a history is imported. */
  readonly importing?: Importing | undefined;
  /** How many lists of packs there are. */
  readonly lists: number;
  /** For every pack that was ever given out, by its code: the id, as randomized, of the participant; or `NOBODY`. */
  readonly given: ForkableMap<string, string>;
  /** Code-breaks in order. */
  readonly reveals: readonly {
    readonly reveal: string;
    readonly revision: number;
    /** Undefined for a pack that nobody had. */
    readonly participantId: string | undefined;
  }[];
}

/** The id, as randomized, of the participant who has or had the pack. */
export function idByPack({ given }: Pick<Life, 'given'>, code: string): string | undefined {
  return given.get(code) || undefined;
}

/** The participant who has, or had, this id. */
export function holderOf({ enrolled, renamed }: Life, id: string): Allocated | undefined {
  const first = enrolled.get(id);
  if (first) return first;
  const original = renamed.get(id);
  return original === undefined ? undefined : enrolled.get(original);
}

function requestKey(user: string, idempotencyKey: string): string {
  return JSON.stringify([user, idempotencyKey]);
}

/** What the idempotency key was used for before; undefined if it was not. */
export function answeredBefore(
  { requests }: Life,
  { user, idempotencyKey }: Repeatable,
): Answered | undefined {
  return idempotencyKey === undefined ? undefined : requests.get(requestKey(user, idempotencyKey));
}

/** Whether the design has changed since the command was judged by it. */
export function isAmendedSince({ design }: Life, { amendment }: Judged): boolean {
  return amendment !== undefined && amendment !== design.amendment;
}

/** The section of a fact that holds the idempotency key of its request. */
export function requestSection({ idempotencyKey }: Repeatable) {
  return idempotencyKey === undefined ? {} : { request: { idempotencyKey } };
}

/** Members of facts that are worked out anew for each request, and so are not part of what was asked for. */
const WORKED_OUT = new Set([
  'reveal',
  'shownAt',
  'counts',
  'counted',
  'voidedAt',
  'from',
  'slot',
  'by',
  'salt',
]);

/** What makes two requests the same, as a digest. It stays the same when a level is renamed. */
export function contentOf(event: Asked, design: Pick<Design, 'factors'>): string {
  const { grounds, note, allocation, withdrawn } = event.sections as Sections;
  const sealed = { ...grounds, ...note, ...allocation, ...withdrawn };
  return hash('sha256', canonicalJson([event.type, askedIn(byPlace(event, design)), askedIn(sealed)]));
}

type Asked = Pick<PartialEvent, 'type' | 'data' | 'sections'>;

/** With the place of each level in its factor, which no amendment changes, instead of its name. */
function byPlace(event: Asked, { factors }: Pick<Design, 'factors'>): object {
  const place = (name: string, level: string) => {
    const factor = factors.find((one) => one.name === name);
    return factor?.levels.indexOf(levelNow(factor, level)) ?? -1;
  };
  const { type, data } = event as PartialEvent;
  if (type === 'LevelsCorrected') {
    const placed = ({ factor, from, to }: LevelChange) => [factor, place(factor, from), place(factor, to)];
    return { ...data, changes: data.changes.map(placed) };
  }
  if (type !== 'AllocationForced') return data;
  return { ...data, levels: data.levels.map(({ factor, level }) => [factor, place(factor, level)]) };
}

function askedIn(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !WORKED_OUT.has(name)));
}

interface Sections {
  readonly request?: { readonly idempotencyKey: string };
  readonly grounds?: object;
  readonly note?: object;
  /** For an allocation that was entered by hand. */
  readonly allocation?: object;
  /** For packs. */
  readonly withdrawn?: object;
}

/** The life of a study that was just registered. */
export function newLife(configuration: StudyConfiguration): Life {
  const design = registeredDesign(configuration);
  return {
    status: configuration.start ?? 'open',
    design,
    latestAt: '',
    closings: [],
    recovery: 0,
    filled: filledBy(design),
    enrolled: new Enrolment(),
    renamed: new ForkableMap(),
    requests: new ForkableMap(),
    lists: 0,
    given: new ForkableMap(),
    reveals: [],
  };
}

/** A fork may be dropped. The original must not change while the fork is in use. */
export function forkOfLife<L extends Life>(life: L): L {
  const { enrolled, renamed, requests, given } = life;
  return {
    ...life,
    ...{ enrolled: enrolled.fork(), renamed: renamed.fork() },
    ...{ requests: requests.fork(), given: given.fork() },
  };
}

/** Folds an event of a registered study. Adds to the maps in place. */
export function lifeAfter<L extends Life>(life: L, event: PartialEvent): L {
  if (event.at > life.latestAt) life.latestAt = event.at;
  if (event.type === 'ParticipantRandomized') return enrol(life, event);
  if (event.type === 'AllocationForced') return force(life, event);
  if (event.type === 'ParticipantImported') return importRow(enrol(life, event), event);
  const key = requestOf(event);
  if (key !== undefined) life.requests.set(key, answeredBy(event, life.design));
  switch (event.type) {
    case 'StudyPaused':
      return { ...life, status: 'paused' };
    case 'StudyResumed':
    case 'StudyReopened':
      return { ...life, status: 'open', design: designAfter(life.design, event) ?? life.design };
    case 'StudyAmended':
      return amend(life, event);
    case 'StudyClosed':
      return { ...life, status: 'closed', closedAt: event.at };
    case 'AllocationRevealed': {
      const { reveal, participantId } = event.data;
      return { ...life, reveals: [...life.reveals, { reveal, revision: event.revision, participantId }] };
    }
    case 'UnblindingReported':
      return life;
    case 'LevelsCorrected':
    case 'AllocationVoided':
    case 'AllocationReinstated':
    case 'ParticipantIdCorrected':
      return correct(life, event);
    case 'CodesRegistered':
      return { ...life, lists: event.data.list };
    case 'CodesWithdrawn':
      return life;
    case 'CodeReplaced':
      return replacePack(life, event.data);
    case 'HistoryImported':
      return begun(life, event.data);
    case 'HistoryImportEnded':
      return ended(life, event.data);
    case 'StudyRecovered': {
      const importing = life.importing && { ...life.importing, isRecovered: true };
      return { ...life, recovery: event.data.recovery, importing };
    }
    default:
      throw new Error(`${event.type} does not belong in a study's stream`);
  }
}

function answeredBy(event: PartialEvent, design: Design): Answered {
  const answered = { revision: event.revision, content: contentOf(event, design) };
  return event.type === 'CodeReplaced' ? { ...answered, by: event.data.by } : answered;
}

function enrol<L extends Life>(
  life: L,
  event: Extract<PartialEvent, { type: 'ParticipantRandomized' | 'ParticipantImported' }>,
): L {
  const { participantId } = event.data;
  const { design, enrolled, filled, requests } = life;
  if (enrolled.get(participantId)) throw new Error('a participant was randomized twice');
  const participant = allocatedBy(design, event);
  enrolled.set(participantId, participant);
  if (participant.pack) life.given.set(participant.pack.code, participantId);
  const key = requestOf(event);
  if (key !== undefined) requests.set(key, { revision: event.revision, enrolled: participant });
  // Nothing is copied for each participant unless the study has limits.
  if (filled.length === 0) return life;
  return { ...life, filled: filledAfter(filled, design, undefined, participant) };
}

function allocatedBy(design: Design, event: EnrolmentEvent): Allocated {
  const slot = slotOf(event, design);
  const { participantId, levels, revision, forced, pack } = enrolledBy(event, design.factors);
  if (forced || pack)
    return { participantId, levels, revision, slot, ...(forced && { forced }), ...(pack && { pack }) };
  // Without a spread, as in enrolledBy.
  return { participantId, levels, revision, slot };
}

/** Index of the participant's slot; -1 if it is withheld. It is recorded only if the treatment has several. */
export function slotOf({ type, sections }: EnrolmentEvent, { slots }: Pick<Design, 'slots'>): number {
  const recorded = type === 'AllocationForced' ? undefined : sections.draw?.slot;
  if (recorded !== undefined) return recorded;
  const { allocation } = sections;
  if (type !== 'ParticipantRandomized' && sections.allocation?.slot !== undefined)
    return sections.allocation.slot;
  return allocation ? slots.indexOf(allocation.treatment) : -1;
}

/** A wrong entry makes way for the one that replaces it. */
function force<L extends Life>(life: L, event: Extract<PartialEvent, { type: 'AllocationForced' }>): L {
  const { design, enrolled, filled, requests } = life;
  const { participantId } = event.data;
  const replaced = enrolled.get(participantId);
  const participant = allocatedBy(design, event);
  enrolled.set(participantId, participant);
  if (replaced?.pack) forgetPacks(life, participantId);
  if (participant.pack) life.given.set(participant.pack.code, participantId);
  const key = requestOf(event);
  if (key !== undefined) requests.set(key, { revision: event.revision, content: contentOf(event, design) });
  return { ...life, filled: filledAfter(filled, design, replaced, participant) };
}

/** The packs of a wrong entry stay used, but nobody knows who has them. */
function forgetPacks({ given }: Life, participantId: string): void {
  const codes = [...given.entries()].filter(([, id]) => id === participantId).map(([code]) => code);
  for (const code of codes) given.set(code, NOBODY);
}

function replacePack<L extends Life>(
  life: L,
  { participantId, by }: Extract<PartialEvent, { type: 'CodeReplaced' }>['data'],
): L {
  const participant = life.enrolled.get(participantId);
  if (participant) life.enrolled.set(participantId, withPack(participant, by));
  life.given.set(by, participantId);
  return life;
}

function importRow<L extends Life>(
  life: L,
  { data }: Extract<PartialEvent, { type: 'ParticipantImported' }>,
): L {
  return { ...life, importing: life.importing && withRow(life.importing, data) };
}

/** Limits are counted anew, because different ones may apply. */
function amend<L extends Life>(life: L, event: Extract<PartialEvent, { type: 'StudyAmended' }>): L {
  const { enrolled } = life;
  const design = designAfter(life.design, event) ?? life.design;
  enrolled.amend(design, renamingsOf(event.data, life.design));
  const closings = event.data.changes.reduce(closingsAfter(life.latestAt), life.closings);
  return { ...life, design, closings, filled: filledBy(design, enrolled.all()) };
}

function closingsAfter(at: string) {
  return (closings: readonly Closing[], change: DesignChange): readonly Closing[] => {
    switch (change.kind) {
      case 'arm-closed':
        return [...closings, { treatment: change.treatment, from: at, to: undefined }];
      case 'arm-added':
        return [...closings, { treatment: change.treatment, from: '', to: at }];
      case 'arm-reopened': {
        const { treatment } = change;
        return closings.map((one) =>
          one.treatment === treatment && one.to === undefined ? { ...one, to: at } : one,
        );
      }
      default:
        return closings;
    }
  };
}

/** Nothing is left of an import that was given up, except its records. */
function ended<L extends Life>(
  life: L,
  data: Extract<PartialEvent, { type: 'HistoryImportEnded' }>['data'],
): L {
  const { design, enrolled, importing, status } = life;
  const after = { ...life, status: importing?.statusBefore ?? status, importing: undefined };
  return 'aborted' in data ? { ...after, enrolled: enrolled.emptied(), filled: filledBy(design) } : after;
}

function correct<L extends Life>(life: L, event: CorrectionEvent): L {
  const { design, enrolled, filled, renamed } = life;
  const { participantId } = event.data;
  const before = enrolled.get(participantId);
  if (!before) throw new Error('a participant was corrected who was never randomized');
  const after = correctedBy(before, event, design.factors);
  enrolled.set(participantId, after);
  if (event.type === 'ParticipantIdCorrected' && event.data.to !== participantId)
    renamed.set(event.data.to, participantId);
  return { ...life, filled: filledAfter(filled, design, before, after) };
}

function requestOf({ actor, sections }: PartialEvent): string | undefined {
  const { request } = sections as Sections;
  return request && requestKey(actor.user, request.idempotencyKey);
}
