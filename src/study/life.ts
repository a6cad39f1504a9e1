/**
 * The life of a study as far as it is in the clear: whether it takes participants, who is in it, whose code was broken.
 * Deciding such a command needs nothing that is sealed, so the same rules check a bundle without arms.
 */
import type { LevelLimit } from '../../events/access.ts';
import type { StudyFact } from '../../events/catalogue.ts';
import { canonicalJson, type PartialEvent } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import type { Approval } from '../../events/text.ts';
import { isDay } from '../base/day.ts';
import type { Decision } from '../write/decider.ts';
import { ACTS, type Status } from './acts.ts';
import type {
  AboutParticipant,
  FullLimit,
  Grounds,
  LifeCommand,
  Repeatable,
  ReportUnblinding,
  Reveal,
  StudyOutcome,
} from './commands.ts';
import { ForkableMap } from './forkable-map.ts';

export interface Enrolled {
  /** As randomized. */
  readonly participantId: string;
  readonly levels: readonly string[];
  /** Of the event that enrolled the participant. */
  readonly revision: number;
}

/** What was asked with an idempotency key. */
export interface Answered {
  readonly revision: number;
  /** Of a randomization. */
  readonly enrolled?: Enrolled;
  /** Of any other request: what makes it the same request, by `contentOf`. */
  readonly content?: string;
}

export interface Life {
  readonly status: Status;
  readonly configuration: StudyConfiguration;
  /** Number of the log's recovery after which the generator was last restarted; 0 if it never was. */
  readonly recovery: number;
  readonly enrolled: ForkableMap<string, Enrolled>;
  /** By `requestKey`. */
  readonly requests: ForkableMap<string, Answered>;
  /** How many participants each limit counts, in the order of `limitsOf`. Empty if the limits stop nobody. */
  readonly filled: readonly number[];
  /** Code-breaks in order. */
  readonly reveals: readonly {
    readonly reveal: string;
    readonly revision: number;
    readonly participantId: string;
  }[];
}

type LifeFact = Extract<
  StudyFact,
  {
    type:
      | 'StudyPaused'
      | 'StudyResumed'
      | 'StudyClosed'
      | 'StudyReopened'
      | 'AllocationRevealed'
      | 'UnblindingReported';
  }
>;
type LifeDecision = Decision<LifeFact, StudyOutcome>;

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

export function decideLife(life: Life, command: LifeCommand): LifeDecision {
  const made = factOf(life, command);
  if (!made.fact) return made;
  const { fact, outcome } = made;
  const earlier = answeredBefore(life, command);
  if (earlier) {
    const isSame = earlier.content === contentOf(fact);
    return {
      outcome: isSame
        ? { type: 'done-before', revision: earlier.revision }
        : { type: 'idempotency-key-reused' },
    };
  }
  const done = doneAlready(life, command);
  if (done) return { outcome: done };
  if (!ACTS[fact.type].in.includes(life.status))
    return { outcome: { type: 'refused', because: life.status } };
  const impossible = impossibility(life, fact);
  return impossible ? { outcome: impossible } : { fact, outcome };
}

/** The fact that the command asks for, whether or not it is possible now. */
function factOf(life: Life, command: LifeCommand): LifeDecision {
  const request = requestSection(command);
  switch (command.type) {
    case 'pause': {
      const data = { reason: command.reason };
      return { fact: { type: 'StudyPaused', data, sections: request }, outcome: { type: 'paused' } };
    }
    case 'resume': {
      const data = { reason: command.reason };
      return { fact: { type: 'StudyResumed', data, sections: request }, outcome: { type: 'resumed' } };
    }
    case 'close': {
      const { approvals, cause, reason } = command;
      const data = { ...(approvals && { approvals: [...approvals] }), cause, reason };
      return { fact: { type: 'StudyClosed', data, sections: request }, outcome: { type: 'closed' } };
    }
    case 'reopen': {
      const { approvals, protocol, reason } = command;
      const data = { approvals: [...approvals], ...(protocol && { protocol }), reason };
      return { fact: { type: 'StudyReopened', data, sections: request }, outcome: { type: 'reopened' } };
    }
    case 'reveal':
    case 'report-unblinding': {
      const participant = participantFor(life, command);
      if (!participant) return { outcome: { type: 'no-such-participant' } };
      const { participantId, revision: randomizedAt } = participant;
      const about = { participantId, randomizedAt };
      const sections = { grounds: groundsOf(command.grounds), ...request };
      return command.type === 'reveal'
        ? {
            fact: { type: 'AllocationRevealed', data: revealOf(command, about), sections },
            outcome: { type: 'revealed', participantId },
          }
        : {
            fact: { type: 'UnblindingReported', data: unblindingOf(command, about), sections },
            outcome: { type: 'unblinding-reported', participantId },
          };
    }
  }
}

/** For the sections of a fact. */
export function requestSection({ idempotencyKey }: Repeatable) {
  return idempotencyKey === undefined ? {} : { request: { idempotencyKey } };
}

interface About {
  readonly participantId: string;
  readonly randomizedAt: number;
}

function revealOf({ category, reveal, shownAt }: Reveal, { participantId, randomizedAt }: About) {
  return { category, participantId, randomizedAt, reveal, ...(shownAt !== undefined && { shownAt }) };
}

function unblindingOf(
  { how, inadvertent, occurredAt, revealedAt }: ReportUnblinding,
  { participantId, randomizedAt }: About,
) {
  return {
    how,
    ...(inadvertent && { inadvertent }),
    occurredAt,
    participantId,
    randomizedAt,
    ...(revealedAt !== undefined && { revealedAt }),
  };
}

function groundsOf({ reason, requestedBy }: Grounds) {
  return { reason, ...(requestedBy !== undefined && { requestedBy }) };
}

/** What makes two requests the same: all but what is made anew for each, and the idempotency key itself. */
function contentOf({ type, data, sections }: Pick<LifeFact, 'type' | 'data' | 'sections'>): string {
  const { reveal: _, shownAt: __, ...asked } = data as Readonly<Record<string, unknown>>;
  const { request: ___, grounds } = sections as { readonly request?: object; readonly grounds?: Grounds };
  return canonicalJson([type, asked, grounds ? groundsOf(grounds) : null]);
}

/** The outcome when the study is already as the command wants it. */
function doneAlready({ status, reveals }: Life, command: LifeCommand): StudyOutcome | undefined {
  switch (command.type) {
    case 'pause':
      return status === 'paused' ? { type: 'already-paused' } : undefined;
    case 'resume':
      return status === 'open' ? { type: 'not-paused' } : undefined;
    case 'close':
      return status === 'closed' ? { type: 'already-closed' } : undefined;
    case 'reopen':
      return status === 'open' ? { type: 'not-closed' } : undefined;
    case 'reveal': {
      const recorded = reveals.find(({ reveal }) => reveal === command.reveal);
      return recorded && { type: 'already-recorded', revision: recorded.revision };
    }
    case 'report-unblinding':
      return undefined;
  }
}

function impossibility({ configuration, reveals }: Life, fact: LifeFact): StudyOutcome | undefined {
  const because = (field: string, why: string) => ({ type: 'impossible', field, why }) as const;
  if (fact.type === 'StudyClosed' || fact.type === 'StudyReopened') {
    const { approvals } = fact.data;
    const wrong = approvals?.findIndex(({ on }) => !isDay(on)) ?? -1;
    if (wrong >= 0) return because(`approvals[${wrong}].on`, 'it is not a day of the calendar');
  }
  if (fact.type === 'StudyReopened') {
    const { approvals, protocol } = fact.data;
    if (lacksApproval(approvals, configuration))
      return because('approvals', 'a live study can be reopened only with an approval');
    if (protocol?.date !== undefined && !isDay(protocol.date))
      return because('protocol.date', 'it is not a day of the calendar');
  }
  if (fact.type === 'UnblindingReported') {
    const { revealedAt, participantId } = fact.data;
    const isOf = ({ revision, participantId: id }: Life['reveals'][number]) =>
      revision === revealedAt && id === participantId;
    if (revealedAt !== undefined && !reveals.some(isOf))
      return because('revealedAt', 'no code of this participant was broken at this revision');
  }
  return undefined;
}

function lacksApproval(approvals: readonly Approval[], { mode }: StudyConfiguration): boolean {
  return mode === 'live' && approvals.length === 0;
}

/** The limits that stop participants, in a fixed order. */
function limitsOf({ limits, policies }: StudyConfiguration): readonly FullLimit[] {
  if (!limits || !policies?.stopAtLimit) return [];
  const { total, levels = [] } = limits;
  return [
    ...(total === undefined ? [] : [{ max: total }]),
    ...levels.map(({ factor, level, max }) => ({ max, of: { factor, level } })),
  ];
}

/** Whether a participant with these levels counts against the limit. */
function countsFor({ of }: FullLimit, { configuration }: Life, levels: readonly string[]): boolean {
  if (!of) return true;
  return levels[configuration.factors.findIndex(({ name }) => name === of.factor)] === of.level;
}

/** The limit that keeps a participant with these levels out; undefined if there is none. */
export function fullLimit(life: Life, levels: readonly string[]): FullLimit | undefined {
  if (life.filled.length === 0) return undefined;
  return limitsOf(life.configuration).find(
    (limit, i) => countsFor(limit, life, levels) && (life.filled[i] ?? 0) >= limit.max,
  );
}

/** The participant with this id, unless the key's limits exclude them. */
function participantFor(
  life: Life,
  { participantId, randomizedAt, where }: AboutParticipant,
): Enrolled | undefined {
  const enrolled = life.enrolled.get(participantId);
  if (!enrolled || enrolled.revision !== (randomizedAt ?? enrolled.revision)) return undefined;
  return isWithin(where, life.configuration, enrolled.levels) ? enrolled : undefined;
}

/**
 * Whether a key may act on a participant with these levels (one per factor, in the study's order): each factor that the
 * key limits must have one of the levels it lists.
 */
export function isWithin(
  where: readonly LevelLimit[] | undefined,
  { factors }: Pick<StudyConfiguration, 'factors'>,
  levels: readonly string[],
): boolean {
  if (!where) return true;
  return where.every((limit) => {
    const index = factors.findIndex(({ name }) => name === limit.factor);
    return limit.levels.includes(levels[index] ?? '');
  });
}

/** The life of a study that was just registered. */
export function newLife(configuration: StudyConfiguration): Life {
  return {
    status: configuration.start ?? 'open',
    configuration,
    recovery: 0,
    filled: limitsOf(configuration).map(() => 0),
    enrolled: new ForkableMap(),
    requests: new ForkableMap(),
    reveals: [],
  };
}

/** Folds an event of a registered study. Adds to the maps in place. */
export function lifeAfter<L extends Life>(life: L, event: PartialEvent): L {
  if (event.type === 'ParticipantRandomized') {
    enrol(life, event);
    if (life.filled.length === 0) return life;
    const levels = event.data.levels.map(({ level }) => level);
    const counted = limitsOf(life.configuration).map((limit) => Number(countsFor(limit, life, levels)));
    return { ...life, filled: life.filled.map((count, i) => count + (counted[i] ?? 0)) };
  }
  const key = requestOf(event);
  if (key !== undefined) {
    const content = contentOf(event as Pick<LifeFact, 'type' | 'data' | 'sections'>);
    life.requests.set(key, { revision: event.revision, content });
  }
  switch (event.type) {
    case 'StudyPaused':
      return { ...life, status: 'paused' };
    case 'StudyResumed':
    case 'StudyReopened':
      return { ...life, status: 'open' };
    case 'StudyClosed':
      return { ...life, status: 'closed' };
    case 'AllocationRevealed': {
      const { reveal, participantId } = event.data;
      return { ...life, reveals: [...life.reveals, { reveal, revision: event.revision, participantId }] };
    }
    case 'UnblindingReported':
      return life;
    case 'StudyRecovered':
      return { ...life, recovery: event.data.recovery };
    default:
      throw new Error(`${event.type} does not belong in a study's stream`);
  }
}

function enrol(
  { enrolled, requests }: Life,
  event: Extract<PartialEvent, { type: 'ParticipantRandomized' }>,
): void {
  const { data, revision } = event;
  const { participantId } = data;
  if (enrolled.get(participantId)) throw new Error('a participant was randomized twice');
  const participant = { participantId, levels: data.levels.map(({ level }) => level), revision };
  enrolled.set(participantId, participant);
  const key = requestOf(event);
  if (key !== undefined) requests.set(key, { revision, enrolled: participant });
}

function requestOf({ actor, sections }: PartialEvent): string | undefined {
  const { request } = sections as { readonly request?: { readonly idempotencyKey: string } };
  return request && requestKey(actor.user, request.idempotencyKey);
}
