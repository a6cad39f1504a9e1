/**
 * The data for a bundle's report, collected record by record. Records come without the sections that the bundle leaves out,
 * so what is sealed cannot get into the report. The lists have a limited length.
 */
import type { PartialEvent } from '../../../events/record.ts';
import type { StudyConfiguration } from '../../../events/study.ts';
import { microsecondsOf } from '../../base/time.ts';
import { counted, plural } from '../../base/wording.ts';
import { isCorrection, PARTICIPANT_ACTS } from '../../core/acts/acts.ts';
import { Balance, type BalanceView } from '../../core/model/balance.ts';
import { type Design, methodIn } from '../../core/model/design.ts';
import { live } from '../../core/model/life.ts';
import { describeRecovery, type Halt, type Model } from '../../core/model/model.ts';
import {
  countsMoved,
  currentId,
  type EnrolmentEvent,
  type Participant,
  voidedByCause,
  WITHHELD,
} from '../../core/model/participants.ts';
import { fold, modelOf } from '../../core/study/fold.ts';
import { secondDraws, undoneAmendments } from '../../core/study/steering.ts';
import {
  type ActEvent,
  actorText,
  actText,
  amendmentText,
  approvalText,
  groundsTexts,
  sentence,
  shownInstant,
  skippedText,
  steeringTexts,
} from './texts.ts';

/**
 * The most that are listed one by one, of participants, code-breaks, corrections, replacements of packs and packs of visits
 * each. The bundle's records have all of them.
 */
export const MAX_LISTED = 2000;

/** The most points in the figure of the enrolment. More could not be distinguished on paper. */
const MAX_POINTS = 400;

export interface ReportEntry {
  readonly revision: number;
  readonly at: string;
  readonly what: string;
  /** Who did it, and on whose behalf. */
  readonly by: string;
  /** The id, as randomized, of the participant who was enrolled. */
  readonly enrolled?: string;
}

type ImportEvent = Extract<
  PartialEvent,
  { type: 'HistoryImported' | 'ParticipantImported' | 'HistoryImportEnded' }
>;
type StateEvent = Extract<
  PartialEvent,
  { type: 'StudyPaused' | 'StudyResumed' | 'StudyClosed' | 'StudyReopened' }
>;
type EntriesEvent = Extract<PartialEvent, { type: 'ListRegistered' | 'EntriesSkipped' }>;
type PackEvent = Extract<
  PartialEvent,
  { type: 'CodesRegistered' | 'CodeReplaced' | 'CodesWithdrawn' | 'PackDispensed' }
>;

export class StudySummary {
  configuration: StudyConfiguration | undefined;
  studyId = '';
  seedSource = '';
  seedWeak = false;
  registeredAt = '';
  lastAt = '';
  /** What the records come to, up to one that contradicts those before it. Undefined before the registration. */
  model: Model | undefined;
  /** Likewise. */
  people: ReportParticipants | undefined;
  /** Participants that the list leaves out. */
  unlisted = 0;
  /** How many there were of what the list has the first `MAX_LISTED` of, each. */
  readonly limited = { 'code-breaks': 0, corrections: 0, 'replacements of packs': 0, 'packs of visits': 0 };
  /** Why the study takes no participants after the last event; undefined if it is open. */
  halt: Halt | undefined;
  readonly listed: ReportEntry[] = [];
  /** A short description of each. */
  readonly recoveries: string[] = [];
  /** Enrolment over time: the number of participants at each instant. */
  readonly enrolment: { readonly at: number; readonly participants: number }[] = [];
  /** Whether the generator goes on where that of an imported history stopped. */
  isContinued = false;
  readonly #namesArms: boolean;
  #isContradicted = false;
  #haltBefore: Halt | undefined;
  #stride = 1;

  /** @param namesArms whether the report may say what arms are called */
  constructor({ namesArms = true } = {}) {
    this.#namesArms = namesArms;
  }

  get participants(): number {
    return this.people?.count ?? 0;
  }

  /** What somebody may have done to choose arms. */
  get steering() {
    const { model } = this;
    return model ? steeringTexts(secondDraws(model), undoneAmendments(model), MAX_LISTED) : [];
  }

  /** Takes the events of the study in order, from its registration on. */
  take(event: PartialEvent): void {
    this.lastAt = event.at;
    if (event.type === 'StudyRegistered' && !this.model) {
      this.#register(event);
      return;
    }
    const before = this.#participantOf(event);
    this.#fold(event);
    switch (event.type) {
      case 'StudyRegistered':
        this.#note(event, 'registered again');
        break;
      case 'ParticipantRandomized':
        this.#enrol(event, event.at, 'randomized');
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
      case 'StudyPaused':
      case 'StudyResumed':
      case 'StudyClosed':
      case 'StudyReopened':
        this.#setState(event);
        break;
      case 'StudyAmended':
        if (event.data.history === 'restart') this.people?.restarts.push(event.data.amendment);
        this.#note(event, amendmentText(event.data, { namesArms: this.#namesArms, hasUrns: this.#hasUrns }));
        break;
      case 'CodesRegistered':
      case 'CodeReplaced':
      case 'CodesWithdrawn':
      case 'PackDispensed':
        this.#takePacks(event);
        break;
      case 'ListRegistered':
      case 'EntriesSkipped':
        this.#takeEntries(event);
        break;
      case 'AllocationRevealed':
      case 'UnblindingReported':
        this.#noteFirst('code-breaks', event, () => this.#text(event, ...groundsTexts(event.sections)));
        break;
      default:
        if (before && PARTICIPANT_ACTS.some((name) => name === event.type))
          this.#act(event as ActEvent, before);
    }
  }

  #register(event: Extract<PartialEvent, { type: 'StudyRegistered' }>): void {
    const { at } = event;
    const { configuration, studyId, seedSource, seedWeak } = event.data;
    Object.assign(this, { configuration, studyId, seedSource, seedWeak, registeredAt: at });
    this.model = modelOf(event);
    this.people = new ReportParticipants(this.model);
    const isPaused = configuration.start === 'paused';
    if (isPaused) this.halt = { state: 'paused', reason: 'registered as paused', at };
    this.#note(event, isPaused ? 'registered as paused' : 'registered');
  }

  /** The participant whom the event is about. */
  #participantOf({ data }: PartialEvent): Participant | undefined {
    const { participantId = '' } = data as { readonly participantId?: string };
    return this.model?.participants.get(participantId);
  }

  #fold(event: PartialEvent): void {
    if (!this.model) return;
    // A bundle of a log that contradicts itself is evidence: its verifiers say what is wrong, and what happened is counted on.
    if (this.#isContradicted) live(this.model, event, isCorrection(event.type));
    else
      try {
        fold(this.model, event);
      } catch {
        this.#isContradicted = true;
      }
  }

  /** @param at when it was, in the figure of the enrolment; of an entry by hand, when it was entered */
  #enrol(event: EnrolmentEvent, at: string, what: string): void {
    if (this.participants > MAX_LISTED) this.unlisted++;
    else this.#note(event, what, event.data.participantId);
    if (this.participants % this.#stride === 0)
      this.enrolment.push({ at: Date.parse(at), participants: this.participants });
    if (this.enrolment.length >= MAX_POINTS) {
      this.#stride *= 2;
      const kept = this.enrolment.filter(({ participants }) => participants % this.#stride === 0);
      this.enrolment.splice(0, this.enrolment.length, ...kept);
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
        !counted && (this.#hasUrns ? 'the urns do not count it' : 'it is not counted'),
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
        const { redrawn } = proof;
        const reason = `a history of ${counted(source.rows, 'participant')} is being imported`;
        this.#haltBefore = this.halt;
        this.halt = { state: 'importing', reason, at };
        this.isContinued = generator === 'continued';
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
          this.enrolment.length = 0;
          this.unlisted = 0;
          this.#note(event, `the import was given up: ${event.data.reason}`);
        } else this.#note(event, 'the import is complete');
    }
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
        this.#note(event, this.#text(event));
        break;
      case 'StudyResumed':
        this.halt = undefined;
        this.#note(event, this.#text(event));
        break;
      case 'StudyClosed': {
        const { cause, reason } = event.data;
        this.halt = { state: 'closed', reason: `${cause}: ${reason}`, at };
        this.#note(event, this.#text(event));
        break;
      }
      case 'StudyReopened': {
        this.halt = undefined;
        this.#note(event, this.#text(event));
      }
    }
  }

  /** No report says which treatment a pack holds, whatever its content. */
  #takePacks(event: PackEvent): void {
    switch (event.type) {
      case 'CodesRegistered': {
        const { count, list, where } = event.data;
        const whose = where ? `, for ${where.factor} ${where.level}` : '';
        this.#note(event, `list ${list} of packs registered: ${count}${whose}`);
        break;
      }
      case 'CodeReplaced':
        this.#noteFirst('replacements of packs', event, () => this.#text(event));
        break;
      case 'PackDispensed':
        this.#noteFirst('packs of visits', event, () => this.#text(event));
        break;
      case 'CodesWithdrawn': {
        const reason = event.sections.withdrawn?.reason;
        this.#note(event, this.#text(event, reason !== undefined && `reason: ${reason}`));
      }
    }
  }

  /** No report says what an entry of a list holds, whatever its content. */
  #takeEntries(event: EntriesEvent): void {
    if (event.type === 'EntriesSkipped') {
      const skipped = skippedText(event.data, this.#strataFactors);
      this.#note(event, `entries skipped: ${skipped}; reason: ${event.data.reason}`);
      return;
    }
    const { approvals, count, list } = event.data;
    const registered = `list ${list} registered: ${counted(count, 'entry', 'entries')}`;
    this.#note(event, sentence(registered, ...approvals.map(approvalText)));
  }

  /** Corrections, and whatever has no list of its own. */
  #act(event: ActEvent, before: Participant): void {
    const after = this.#participantOf(event);
    if (!this.people || !after) return;
    const counts = countsMoved(before, after, this.people.design) ? 'moved' : 'stayed';
    const text = 'note' in event.sections ? event.sections.note?.text : undefined;
    const details = [
      currentId(before) === currentId(after) &&
        `the counts ${this.#hasUrns ? 'of the urns' : 'of participants'} ${counts}`,
      text !== undefined && `note: ${text}`,
    ];
    this.#noteFirst('corrections', event, () => this.#text(event, ...details));
  }

  /** @param more further details */
  #text(event: ActEvent, ...more: readonly (string | false | undefined)[]): string {
    return actText(event, (id) => this.#idOf(id), ...more);
  }

  /** The id in use, of a participant with this id as randomized. */
  #idOf(participantId: string): string {
    const participant = this.model?.participants.get(participantId);
    return participant ? currentId(participant) : participantId;
  }

  get #hasUrns(): boolean {
    return this.configuration === undefined || methodIn(this.configuration).name === 'urn';
  }

  /** The factors of the method's strata. */
  get #strataFactors(): readonly string[] {
    const method = this.configuration && methodIn(this.configuration);
    return method && 'by' in method ? method.by : [];
  }

  #noteFirst(what: keyof StudySummary['limited'], event: PartialEvent, text: () => string): void {
    this.limited[what]++;
    if (this.limited[what] <= MAX_LISTED) this.#note(event, text());
  }

  #note({ revision, at, actor }: PartialEvent, what: string, enrolled?: string): void {
    this.listed.push({
      revision,
      at,
      what,
      by: actorText(actor),
      ...(enrolled !== undefined && { enrolled }),
    });
  }
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

/** The one arm of all, where their treatments are sealed or do not matter. */
const ALL = 'all';

/** The participants of a bundle's report, as the records that were read leave them in the model. */
export class ReportParticipants {
  readonly #model: Model;
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
  get(id: string): Participant | undefined {
    return this.#model.participants.get(id);
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
      unblinded: all.filter((one) => one.unblinded).length,
    };
  }
}
