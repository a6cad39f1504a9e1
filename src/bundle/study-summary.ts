/**
 * The data for a bundle's report, collected record by record. Its size does not grow with the number of participants,
 * apart from a list of limited length.
 */
import type { Actor, LogEvent } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import { describeRecovery } from '../../projections/study-config.ts';

/** The most participants that are listed one by one. The bundle's records have all of them. */
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
    readonly treatment: string;
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
  readonly listed: Listed[] = [];
  /** A short description of each. */
  readonly recoveries: string[] = [];
  /** Participants on each treatment, in the order of the treatments. */
  totals: number[] = [];
  /** For each factor and level: participants on each treatment. */
  counts: number[][][] = [];
  /** Enrolment over time: the number of participants at each instant. */
  readonly enrolment: { readonly at: number; readonly participants: number }[] = [];
  #stride = 1;

  take(event: LogEvent): void {
    const { at } = event;
    this.lastAt = at;
    switch (event.type) {
      case 'StudyRegistered': {
        const { configuration, studyId, seedSource, seedWeak } = event.data;
        const zeros = () => configuration.treatments.map(() => 0);
        Object.assign(this, { configuration, studyId, seedSource, seedWeak, registeredAt: at });
        this.totals = zeros();
        this.counts = configuration.factors.map(({ levels }) => levels.map(zeros));
        this.#note(event, 'registered');
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
      case 'StudyResumed': {
        const verb = event.type === 'StudyPaused' ? 'paused' : 'resumed';
        this.#note(event, `${verb}: ${event.data.reason}`);
      }
    }
  }

  #enrol(event: Extract<LogEvent, { type: 'ParticipantRandomized' }>): void {
    const { at, data, sections } = event;
    const { treatment } = sections.allocation;
    const levels = data.levels.map(({ level }) => level);
    const arm = this.configuration?.treatments.indexOf(treatment) ?? -1;
    this.participants++;
    increment(this.totals, arm);
    levels.forEach((level, i) => {
      const index = this.configuration?.factors[i]?.levels.indexOf(level) ?? -1;
      increment(this.counts[i]?.[index] ?? [], arm);
    });
    this.#note(event, 'randomized', { id: data.participantId, levels, treatment });
    if (this.participants % this.#stride === 0)
      this.enrolment.push({ at: Date.parse(at), participants: this.participants });
    if (this.enrolment.length >= MAX_POINTS) {
      this.#stride *= 2;
      const kept = this.enrolment.filter(({ participants }) => participants % this.#stride === 0);
      this.enrolment.splice(0, this.enrolment.length, ...kept);
    }
  }

  #note({ revision, at, actor }: LogEvent, what: string, participant?: Listed['participant']): void {
    if (participant && this.participants > MAX_LISTED) this.unlisted++;
    else this.listed.push({ revision, at, what, by: by(actor), ...(participant && { participant }) });
  }
}

function by(actor: Actor): string {
  if ('cli' in actor) return `${actor.user} (command line)`;
  const { user, onBehalfOf } = actor;
  return onBehalfOf === undefined ? user : `${user}, on behalf of ${onBehalfOf}`;
}

function increment(counts: number[], index: number): void {
  if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
}
