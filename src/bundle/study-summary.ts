/**
 * The data for a bundle's report, collected record by record. Records come without the sections that the bundle leaves out,
 * so what is sealed cannot get into the report. Its size does not grow with the number of participants,
 * apart from a list of limited length.
 */
import type { Actor, PartialEvent } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import type { Approval } from '../../events/text.ts';
import { describeRecovery, type Halt } from '../../projections/study-config.ts';

/** The most participants, and the most code-breaks, that are listed one by one. The bundle's records have all of them. */
export const MAX_LISTED = 2000;
/** The most points in the figure of the enrolment. More could not be distinguished on paper. */
const MAX_POINTS = 400;

export interface Listed {
  readonly revision: number;
  readonly at: string;
  readonly what: string;
  /** Who did it, and on whose behalf. */
  readonly by: string;
  readonly participant?: {
    readonly id: string;
    readonly levels: readonly string[];
    /** Undefined if it is sealed. */
    readonly treatment: string | undefined;
    /** How somebody learned the treatment: each way once. */
    readonly revealed: Set<string>;
  };
}

export interface StreamSummary {
  readonly stream: string;
  readonly records: number;
  /** Records of which only the leaf hash is in the bundle. */
  readonly withheld: number;
  /** Base64. */
  readonly root: string;
}

export class StudySummary {
  configuration: StudyConfiguration | undefined;
  studyId = '';
  seedSource = '';
  seedWeak = false;
  registeredAt = '';
  lastAt = '';
  participants = 0;
  /** Participants that the list leaves out. */
  unlisted = 0;
  /** Code-breaks and reported unblindings that the list leaves out. */
  unlistedBreaks = 0;
  /** Why the study takes no participants after the last event; undefined if it is open. */
  halt: Halt | undefined;
  /** How many codes were broken, by category. */
  readonly revealed: Record<string, number> = {};
  /** How often an unblinding without the service was reported. */
  unblindingReported = 0;
  readonly listed: Listed[] = [];
  /** A short description of each. */
  readonly recoveries: string[] = [];
  /** Participants on each treatment, in the order of the treatments. Zeros if the treatments are sealed. */
  totals: number[] = [];
  /** For each factor and level: participants on each treatment. Zeros if the treatments are sealed. */
  counts: number[][][] = [];
  /** For each factor and level: participants. */
  levels: number[][] = [];
  /** Enrolment over time: the number of participants at each instant. */
  readonly enrolment: { readonly at: number; readonly participants: number }[] = [];
  #stride = 1;
  #breaks = 0;
  /** Those that are listed, by id. */
  readonly #listed = new Map<string, NonNullable<Listed['participant']>>();

  take(event: PartialEvent): void {
    const { at } = event;
    this.lastAt = at;
    switch (event.type) {
      case 'StudyRegistered': {
        const { configuration, studyId, seedSource, seedWeak } = event.data;
        const zeros = () => configuration.treatments.map(() => 0);
        Object.assign(this, { configuration, studyId, seedSource, seedWeak, registeredAt: at });
        this.totals = zeros();
        this.counts = configuration.factors.map(({ levels }) => levels.map(zeros));
        this.levels = configuration.factors.map(({ levels }) => levels.map(() => 0));
        const isPaused = configuration.start === 'paused';
        if (isPaused) this.halt = { state: 'paused', reason: 'registered as paused', at };
        this.#note(event, isPaused ? 'registered as paused' : 'registered');
        break;
      }
      case 'ParticipantRandomized':
        this.#enrol(event);
        break;
      case 'StudyRecovered': {
        const { recovery, kept, signed } = event.data;
        const what = describeRecovery({ recovery, at, kept, signed: signed?.size });
        this.recoveries.push(what);
        this.#note(event, what);
        break;
      }
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
        const { version, date } = protocol ?? {};
        const from = version && `protocol ${version}${date === undefined ? '' : ` of ${date}`} from here on`;
        this.#note(event, sentence(`reopened: ${reason}`, ...approvals.map(approvalText), from));
        break;
      }
      case 'AllocationRevealed':
        this.#breakCode(event);
        break;
      case 'UnblindingReported':
        this.#reportUnblinding(event);
    }
  }

  #breakCode(event: Extract<PartialEvent, { type: 'AllocationRevealed' }>): void {
    const { category, participantId, shownAt } = event.data;
    this.revealed[category] = (this.revealed[category] ?? 0) + 1;
    const late =
      shownAt === undefined
        ? undefined
        : `recorded late: the treatment was shown at ${shownInstant(shownAt)}`;
    const what = `code of ${participantId} broken: ${category}`;
    this.#noteBreak(event, category, sentence(what, late, ...groundsTexts(event.sections)));
  }

  #reportUnblinding(event: Extract<PartialEvent, { type: 'UnblindingReported' }>): void {
    const { how, inadvertent, occurredAt, participantId, revealedAt } = event.data;
    this.unblindingReported++;
    const what = `reported: ${participantId} was unblinded outside the service at ${shownInstant(occurredAt)} (${how})`;
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
    this.#listed.get(event.data.participantId)?.revealed.add(way);
    this.#breaks++;
    if (this.#breaks > MAX_LISTED) this.unlistedBreaks++;
    else this.#note(event, what);
  }

  #enrol(event: Extract<PartialEvent, { type: 'ParticipantRandomized' }>): void {
    const { at, data, sections } = event;
    const treatment = sections.allocation?.treatment;
    const levels = data.levels.map(({ level }) => level);
    const arm = this.configuration?.treatments.indexOf(treatment ?? '') ?? -1;
    this.participants++;
    increment(this.totals, arm);
    levels.forEach((level, i) => {
      const index = this.configuration?.factors[i]?.levels.indexOf(level) ?? -1;
      increment(this.levels[i] ?? [], index);
      increment(this.counts[i]?.[index] ?? [], arm);
    });
    const participant = { id: data.participantId, levels, treatment, revealed: new Set<string>() };
    if (this.participants > MAX_LISTED) this.unlisted++;
    else {
      this.#listed.set(participant.id, participant);
      this.#note(event, 'randomized', participant);
    }
    if (this.participants % this.#stride === 0)
      this.enrolment.push({ at: Date.parse(at), participants: this.participants });
    if (this.enrolment.length >= MAX_POINTS) {
      this.#stride *= 2;
      const kept = this.enrolment.filter(({ participants }) => participants % this.#stride === 0);
      this.enrolment.splice(0, this.enrolment.length, ...kept);
    }
  }

  #note({ revision, at, actor }: PartialEvent, what: string, participant?: Listed['participant']): void {
    this.listed.push({ revision, at, what, by: by(actor), ...(participant && { participant }) });
  }
}

function sentence(...parts: readonly (string | false | undefined)[]): string {
  return parts.filter((part) => typeof part === 'string').join('; ');
}

function approvalText({ name, role, on, reference }: Approval): string {
  const more = [role, on, ...(reference === undefined ? [] : [reference])];
  return `approved by ${name} (${more.join(', ')})`;
}

/** Nothing if the grounds are sealed. */
function groundsTexts({
  grounds,
}: {
  readonly grounds?: { readonly reason: string; readonly requestedBy?: string | undefined } | undefined;
}): (string | undefined)[] {
  if (!grounds) return [];
  const { reason, requestedBy } = grounds;
  return [`reason: ${reason}`, requestedBy === undefined ? undefined : `asked for by ${requestedBy}`];
}

/** To the second, in UTC. */
export function shownInstant(at: string): string {
  return `${at.replace('T', ' ').slice(0, 19)} UTC`;
}

function by(actor: Actor): string {
  if ('cli' in actor) return `${actor.user} (command line)`;
  const { user, onBehalfOf } = actor;
  return onBehalfOf === undefined ? user : `${user}, on behalf of ${onBehalfOf}`;
}

function increment(counts: number[], index: number): void {
  if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
}
