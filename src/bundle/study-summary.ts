/**
 * The data for a bundle's report, collected record by record. Records come without the sections that the bundle leaves out,
 * so what is sealed cannot get into the report. The lists have a limited length.
 */
import type { PartialEvent } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import {
  type CorrectionEvent,
  countsMoved,
  currentId,
  type EnrolmentEvent,
  isCorrection,
} from '../../projections/enrolled.ts';
import { describeRecovery, type Halt } from '../../projections/study-config.ts';
import { counted, plural } from '../base/counted.ts';
import { microsecondsOf } from '../base/instant.ts';
import {
  amendmentText,
  approvalText,
  by,
  correctionText,
  groundsTexts,
  protocolFromHere,
  sentence,
  shownInstant,
} from './event-texts.ts';
import { ReportParticipants } from './report-participants.ts';

/** The most participants, code-breaks, corrections and replacements of packs that are listed one by one. The bundle's records have all of them. */
export const MAX_LISTED = 2000;
/** The most points in the figure of the enrolment. More could not be distinguished on paper. */
const MAX_POINTS = 400;

export interface Listed {
  readonly revision: number;
  readonly at: string;
  readonly what: string;
  /** Who did it, and on whose behalf. */
  readonly by: string;
  /** The id, as randomized, of the participant who was enrolled. */
  readonly enrolled?: string;
}

export interface StreamSummary {
  readonly stream: string;
  readonly records: number;
  /** Records of which only the leaf hash is in the bundle. */
  readonly withheld: number;
  /** Base64. */
  readonly root: string;
}

type ImportEvent = Extract<
  PartialEvent,
  { type: 'HistoryImported' | 'ParticipantImported' | 'HistoryImportEnded' }
>;
type StateEvent = Extract<
  PartialEvent,
  { type: 'StudyPaused' | 'StudyResumed' | 'StudyClosed' | 'StudyReopened' }
>;
type PackEvent = Extract<PartialEvent, { type: 'CodesRegistered' | 'CodeReplaced' | 'CodesWithdrawn' }>;

export class StudySummary {
  readonly #namesArms: boolean;
  configuration: StudyConfiguration | undefined;
  studyId = '';
  seedSource = '';
  seedWeak = false;
  registeredAt = '';
  lastAt = '';
  /** Undefined before the registration. */
  people: ReportParticipants | undefined;
  /** Participants that the list leaves out. */
  unlisted = 0;
  /** Code-breaks and reported unblindings that the list leaves out. */
  unlistedBreaks = 0;
  unlistedCorrections = 0;
  unlistedReplacements = 0;
  /** Packs of medication. */
  readonly packs = { lists: 0, registered: 0, replaced: 0, withdrawn: 0 };
  /** Why the study takes no participants after the last event; undefined if it is open. */
  halt: Halt | undefined;
  /** How many codes were broken, by category. */
  readonly revealed: Record<string, number> = {};
  /** How many of these code-breaks were for a pack that nobody had. */
  revealedPacks = 0;
  /** How often an unblinding without the service was reported. */
  unblindingReported = 0;
  readonly listed: Listed[] = [];
  /** A short description of each. */
  readonly recoveries: string[] = [];
  /** Enrolment over time: the number of participants at each instant. */
  readonly enrolment: { readonly at: number; readonly participants: number }[] = [];
  /** A history of another system. */
  imported:
    | { readonly redrawn: number; readonly unproven: number; readonly isContinued: boolean }
    | undefined;
  #haltBefore: Halt | undefined;
  #stride = 1;
  #breaks = 0;
  #corrections = 0;

  /** @param namesArms whether the report may say what arms are called */
  constructor({ namesArms = true } = {}) {
    this.#namesArms = namesArms;
  }

  get participants(): number {
    return this.people?.count ?? 0;
  }

  take(event: PartialEvent): void {
    const { at } = event;
    this.lastAt = at;
    switch (event.type) {
      case 'StudyRegistered':
        this.#register(event);
        break;
      case 'ParticipantRandomized':
        this.#enrol(event, at, 'randomized');
        break;
      case 'AllocationForced':
        this.#force(event);
        break;
      case 'HistoryImported':
      case 'ParticipantImported':
      case 'HistoryImportEnded':
        this.#import(event);
        break;
      case 'StudyRecovered':
        this.#recover(event);
        break;
      case 'LogMoved':
        this.#note(event, `the log was moved to ${event.data.to}`);
        break;
      case 'LogArrived':
        this.#note(event, `the log arrived from ${event.data.from}`);
        break;
      case 'LogReopened':
        this.#note(event, 'the move of the log was given up');
        break;
      case 'StudyPaused':
      case 'StudyResumed':
      case 'StudyClosed':
      case 'StudyReopened':
        this.#setState(event);
        break;
      case 'StudyAmended':
        this.people?.amend(event);
        this.#note(event, amendmentText(event.data, this.#namesArms));
        break;
      case 'CodesRegistered':
      case 'CodeReplaced':
      case 'CodesWithdrawn':
        this.#takePacks(event);
        break;
      case 'AllocationRevealed':
        this.#breakCode(event);
        break;
      case 'UnblindingReported':
        this.#reportUnblinding(event);
        break;
      default:
        if (isCorrection(event)) this.#correct(event);
    }
  }

  #register(event: Extract<PartialEvent, { type: 'StudyRegistered' }>): void {
    const { at } = event;
    const { configuration, studyId, seedSource, seedWeak } = event.data;
    Object.assign(this, { configuration, studyId, seedSource, seedWeak, registeredAt: at });
    this.people = new ReportParticipants(configuration);
    const isPaused = configuration.start === 'paused';
    if (isPaused) this.halt = { state: 'paused', reason: 'registered as paused', at };
    this.#note(event, isPaused ? 'registered as paused' : 'registered');
  }

  #recover(event: Extract<PartialEvent, { type: 'StudyRecovered' }>): void {
    const { recovery, kept, signed } = event.data;
    const what = describeRecovery({ recovery, at: event.at, kept, signed: signed?.size });
    this.recoveries.push(what);
    this.#note(event, what);
  }

  #setState(event: StateEvent): void {
    const { at } = event;
    switch (event.type) {
      case 'StudyPaused':
        this.halt = { state: 'paused', reason: event.data.reason, at };
        this.#note(event, `paused: ${event.data.reason}`);
        break;
      case 'StudyResumed':
        this.halt = undefined;
        this.#note(event, `resumed: ${event.data.reason}`);
        break;
      case 'StudyClosed': {
        const { cause, reason, approvals = [] } = event.data;
        this.halt = { state: 'closed', reason: `${cause}: ${reason}`, at };
        this.#note(event, sentence(`closed (${cause}): ${reason}`, ...approvals.map(approvalText)));
        break;
      }
      case 'StudyReopened': {
        const { approvals, protocol, reason } = event.data;
        this.halt = undefined;
        this.people?.amend(event);
        const from = protocol && protocolFromHere(protocol);
        this.#note(event, sentence(`reopened: ${reason}`, ...approvals.map(approvalText), from));
      }
    }
  }

  #force(event: Extract<PartialEvent, { type: 'AllocationForced' }>): void {
    const { cause, counted, occurredAt, participantId, replaces } = event.data;
    if (replaces !== undefined) this.#standAlone(participantId);
    this.#enrol(
      event,
      event.at,
      sentence(
        `allocated outside the service at ${shownInstant(occurredAt)}, and entered by hand (${cause})`,
        !counted && 'the urns do not count it',
        replaces !== undefined && `it replaces the wrong entry at revision ${replaces}`,
        event.sections.note && `note: ${event.sections.note.text}`,
      ),
    );
  }

  /** The line of a wrong entry shows that entry as it was. The participant is on the line of the entry that replaced it. */
  #standAlone(participantId: string): void {
    const index = this.listed.findLastIndex(({ enrolled }) => enrolled === participantId);
    const line = this.listed[index];
    if (!line) return;
    const { enrolled, ...wrong } = line;
    this.listed[index] = { ...wrong, what: `${enrolled} ${wrong.what}` };
  }

  #import(event: ImportEvent): void {
    const { at } = event;
    switch (event.type) {
      case 'HistoryImported': {
        const { approvals, generator, proof, source } = event.data;
        const { redrawn, unproven } = proof;
        const reason = `a history of ${counted(source.rows, 'participant')} is being imported`;
        this.#haltBefore = this.halt;
        this.halt = { state: 'importing', reason, at };
        this.imported = { redrawn, unproven, isContinued: generator === 'continued' };
        const proven = `${redrawn} of its ${counted(source.rows, 'row')} ${plural(redrawn, 'was', 'were')} drawn again`;
        this.#note(event, sentence(`a history is imported: ${proven}`, ...approvals.map(approvalText)));
        break;
      }
      case 'ParticipantImported': {
        const { original, redrawn, cause, row } = event.data;
        const instant = microsecondsOf(original.datetime);
        const shownAt = instant === undefined ? at : new Date(Math.floor(instant / 1000)).toISOString();
        const proof = redrawn ? 'drawn again' : `not drawn again: ${cause}`;
        this.#enrol(event, shownAt, `imported from row ${row} of ${shownInstant(shownAt)} (${proof})`);
        break;
      }
      case 'HistoryImportEnded':
        this.halt = this.#haltBefore;
        if ('aborted' in event.data) {
          this.people?.clear();
          this.imported = undefined;
          this.enrolment.length = 0;
          this.unlisted = 0;
          this.#note(event, `the import was given up: ${event.data.reason}`);
        } else this.#note(event, 'the import is complete');
    }
  }

  #correct(event: CorrectionEvent): void {
    const { people } = this;
    const { before, after } = people?.correct(event) ?? {};
    if (!people || !before || !after) return;
    this.#corrections++;
    if (this.#corrections > MAX_LISTED) {
      this.unlistedCorrections++;
      return;
    }
    const counts = countsMoved(before, after, people.design) ? 'moved' : 'stayed';
    const text = 'note' in event.sections ? event.sections.note?.text : undefined;
    this.#note(
      event,
      sentence(
        correctionText(event, currentId(before), people),
        event.type !== 'ParticipantIdCorrected' && `the counts of the urns ${counts}`,
        text !== undefined && `note: ${text}`,
      ),
    );
  }

  /** No report says which treatment a pack holds, whatever its content. */
  #takePacks(event: PackEvent): void {
    const { packs } = this;
    switch (event.type) {
      case 'CodesRegistered': {
        const { count, list, where } = event.data;
        packs.lists++;
        packs.registered += count;
        const whose = where ? `, for ${where.factor} ${where.level}` : '';
        this.#note(event, `list ${list} of packs registered: ${count}${whose}`);
        break;
      }
      case 'CodeReplaced': {
        const { by: other, cause, code, participantId } = event.data;
        packs.replaced++;
        this.people?.replacePack(participantId, other);
        const what = `pack ${code} of ${this.#idOf(participantId)} replaced by ${other} (${cause})`;
        if (packs.replaced > MAX_LISTED) this.unlistedReplacements++;
        else this.#note(event, what);
        break;
      }
      case 'CodesWithdrawn': {
        const { count } = event.data;
        packs.withdrawn += count;
        const reason = event.sections.withdrawn?.reason;
        const what = `packs withdrawn that nobody had: ${count}`;
        this.#note(event, sentence(what, reason !== undefined && `reason: ${reason}`));
      }
    }
  }

  /** The id in use, of a participant with this id as randomized. */
  #idOf(participantId: string): string {
    const participant = this.people?.get(participantId);
    return participant ? currentId(participant) : participantId;
  }

  #breakCode(event: Extract<PartialEvent, { type: 'AllocationRevealed' }>): void {
    const { category, code, participantId, shownAt } = event.data;
    this.revealed[category] = (this.revealed[category] ?? 0) + 1;
    const late =
      shownAt === undefined
        ? undefined
        : `recorded late: the treatment was shown at ${shownInstant(shownAt)}`;
    if (participantId === undefined) this.revealedPacks++;
    const what = `code of ${participantId === undefined ? `pack ${code}` : this.#idOf(participantId)} broken: ${category}`;
    const byPack = participantId === undefined ? 'nobody had it' : `requested with the pack ${code}`;
    const texts = [code !== undefined && byPack, late, ...groundsTexts(event.sections)];
    this.#noteBreak(event, category, sentence(what, ...texts));
  }

  #reportUnblinding(event: Extract<PartialEvent, { type: 'UnblindingReported' }>): void {
    const { how, inadvertent, occurredAt, participantId, revealedAt } = event.data;
    this.unblindingReported++;
    const what = `reported: ${this.#idOf(participantId)} was unblinded outside the service at ${shownInstant(occurredAt)} (${how})`;
    const mistake =
      revealedAt === undefined ? undefined : `the code-break at revision ${revealedAt} was a mistake`;
    const texts = [inadvertent && 'inadvertent', mistake, ...groundsTexts(event.sections)];
    this.#noteBreak(event, `reported: ${how}`, sentence(what, ...texts));
  }

  #noteBreak(
    event: Extract<PartialEvent, { type: 'AllocationRevealed' | 'UnblindingReported' }>,
    way: string,
    what: string,
  ): void {
    const { participantId } = event.data;
    if (participantId !== undefined) this.people?.reveal(participantId, way);
    this.#breaks++;
    if (this.#breaks > MAX_LISTED) this.unlistedBreaks++;
    else this.#note(event, what);
  }

  /** @param at when it was, in the figure of the enrolment; of an entry by hand, when it was entered */
  #enrol(event: EnrolmentEvent, at: string, what: string): void {
    const { data } = event;
    this.people?.enrol(event);
    if (this.participants > MAX_LISTED) this.unlisted++;
    else this.#note(event, what, data.participantId);
    if (this.participants % this.#stride === 0)
      this.enrolment.push({ at: Date.parse(at), participants: this.participants });
    if (this.enrolment.length >= MAX_POINTS) {
      this.#stride *= 2;
      const kept = this.enrolment.filter(({ participants }) => participants % this.#stride === 0);
      this.enrolment.splice(0, this.enrolment.length, ...kept);
    }
  }

  #note({ revision, at, actor }: PartialEvent, what: string, enrolled?: string): void {
    this.listed.push({ revision, at, what, by: by(actor), ...(enrolled !== undefined && { enrolled }) });
  }
}
