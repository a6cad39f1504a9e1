/**
 * GET /changes: server-sent events that say when a study has changed, so that its page asks for the list again. They give only
 * the revision of the latest change that the key may know of.
 *
 * An open stream does not count as a request in progress: it is checked from time to time, and streams end first when the
 * service stops.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type LevelLimit, Scope } from '../../../../events/access.ts';
import { type Design, levelNow } from '../../../core/model/design.ts';
import { isWithin } from '../../../core/model/key-limits.ts';
import {
  currentLevels,
  type Participant,
  type ParticipantEvent,
  type ParticipantEvents,
  type Participants,
} from '../../../core/model/participants.ts';
import { lastStudyWide, participantEvents } from '../../../core/study/fold.ts';
import { ERRORS, operation, STUDY } from '../request/openapi-operation.ts';
import { headerValues, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { tooMany } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { type Services, type StudyRequest, stillAccepted, studyHandler } from '../request/study-request.ts';

export interface ChangeServices extends Services {
  readonly changes: ChangeStreams;
}

const PARAMETERS = new Set(['api_key', 'study']);
const SCOPES = Scope.options;

export const changesOperation = operation('Hear when a study changes', 'changes', SCOPES, {
  description: [
    'Server-sent events for `EventSource`. Each has a revision as its `id`, and no data: ask for the list again. At most one a second; a comment every 15 s. The first comes immediately, unless',
    '`Last-Event-ID` is as recent. A key that is limited to levels hears of changes to the study, and to participants within its limits. The stream ends after',
    '5 minutes, with the session, with the key, and when the service stops. It does not renew the session. A session may have 3, a key 30 in all its sessions together, and a process 200; beyond that, the status is 429.',
  ].join(' '),
  parameters: [
    STUDY,
    {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'The revision that is already known. `EventSource` sends it by itself',
      schema: { type: 'integer' },
    },
  ],
  content: {
    'text/event-stream': { schema: { type: 'string' }, example: 'retry: 3000\n\nid: 17\ndata:\n\n' },
  },
  empty: {},
  errors: ERRORS,
});

export function getChanges(services: ChangeServices) {
  return studyHandler(services, SCOPES, (request) => {
    const { http, response, query, accepted, session, study } = request;
    const holder = { keyId: accepted.key.keyId, sessionId: session?.sessionId };
    refuseProblems(unknownParameters(query, PARAMETERS, 'changes'));
    const latest = latestFor(services, request);
    const known = lastEventId(http);
    if (http.method !== 'HEAD') services.changes.enter(response, holder);
    const isAllowed = () => stillAccepted(services, request) && !services.runner.halted(study.stream);
    return {
      status: 200,
      message: SUCCESS,
      results: '{}',
      revision: latest(),
      beginStream: () => services.changes.open(response, { isAllowed, latest, known }),
    };
  });
}

/** A browser sends the last id that it received; anything else counts as none. */
function lastEventId(http: IncomingMessage): number {
  const [id = ''] = headerValues(http, 'last-event-id');
  return /^\d{1,15}$/.test(id) ? Number(id) : -1;
}

/**
 * The revision of the last change that the key of a request may know of, as of each call. A call looks only at what is new
 * since the one before.
 */
function latestFor({ runner }: Services, request: StudyRequest): () => number {
  const { accepted, design, participants, study } = request;
  const { stream } = study;
  let seen = -1;
  let latest = -1;
  return () => {
    const revision = runner.revision(stream);
    if (revision === seen) return latest;
    const events = runner.state(participantEvents, stream);
    const changed = {
      revision,
      lastStudyWide: runner.state(lastStudyWide, stream),
      design: design(),
      participants,
      events,
    };
    // None of the new events may be one that this key may know of.
    const found = lastChange(changed, accepted.key.where, seen);
    if (found > seen) latest = found;
    seen = revision;
    return latest;
  };
}

/** What shows the last change to a study that a key may know of. */
interface ChangedStudy {
  readonly revision: number;
  /** Revision of the last event that is not about a single participant. */
  readonly lastStudyWide: number;
  readonly design: Pick<Design, 'factors'>;
  readonly participants: Pick<Participants, 'inOrder' | 'find'>;
  readonly events: Pick<ParticipantEvents, 'inOrder'>;
}

/**
 * The revision of the last change that a key with these limits may know of. The key must not learn when people are
 * allocated elsewhere, so such a change does not count.
 * @param after the last change that is already known: nothing up to there is examined
 */
export function lastChange(
  study: ChangedStudy,
  where: readonly LevelLimit[] | undefined,
  after: number,
): number {
  if (!where) return study.revision;
  const { design, participants, events } = study;
  const isShown = (levels: readonly string[]) => isWithin(where, design, levels);
  const newest = Math.max(after, study.lastStudyWide);
  const enrolled = lastOf(participants.inOrder, newest, (one) => isShown(currentLevels(one)));
  return lastOf(events.inOrder, enrolled, (event) => {
    const participant = participants.find(event.data.participantId ?? '');
    // Without a participant, the event is about a pack that nobody had, or about an import that was given up.
    if (participant?.revision !== event.data.randomizedAt || participant === undefined) return false;
    return levelsAround(event, participant, design).some(isShown);
  });
}

/** The revision of the last wanted event after `after`; otherwise `after`. */
function lastOf<T extends { readonly revision: number }>(
  inOrder: readonly T[],
  after: number,
  isWanted: (one: T) => boolean,
): number {
  for (let i = inOrder.length - 1; i >= 0; i--) {
    const one = inOrder[i];
    if (!one || one.revision <= after) return after;
    if (isWanted(one)) return one.revision;
  }
  return after;
}

/** The levels now and, for a transfer, those before it: both sites hear of it. */
function levelsAround(
  event: ParticipantEvent,
  participant: Participant,
  { factors }: Pick<Design, 'factors'>,
): (readonly string[])[] {
  const now = currentLevels(participant);
  if (event.type !== 'LevelsCorrected') return [now];
  const { changes } = event.data;
  const before = factors.map((factor, i) => {
    const change = changes.find((one) => one.factor === factor.name);
    return change ? levelNow(factor, change.from) : (now[i] ?? '');
  });
  return [now, before];
}

/** What a stream is about. */
interface Watched {
  /** Whether the credential is still accepted and the study can still be read. */
  readonly isAllowed: () => boolean;
  /** Revision of the last change that the client may know of. */
  readonly latest: () => number;
  /** Revision of the last change that the client knows of; -1 for none. */
  readonly known: number;
}

interface Holder {
  readonly keyId: string;
  /** Undefined for a program, which sends the key itself. */
  readonly sessionId: string | undefined;
}

const MAX_STREAMS = { perSession: 3, perKey: 30, all: 200 };
/** How often each stream is checked, in ms. */
const CHECK_MS = 250;
/** The least time between two events of a stream, and between two checks of its credential, in ms. */
const PACE_MS = 1000;
/** A stream is never silent for longer, so that proxies and browsers know that it is alive. */
const COMMENT_MS = 15_000;
const LONGEST_MS = 300_000;
/** When a browser connects again. By then a service that is stopping no longer listens. */
const RETRY_MS = 3000;
/** How long a client that reads nothing may keep its connection after the end. */
const CLOSE_MS = 1000;

interface Stream extends Watched {
  readonly response: ServerResponse;
  readonly openedAt: number;
  sent: number;
  sentAt: number;
  checkedAt: number;
  writtenAt: number;
}

/** The open streams of this process. */
export class ChangeStreams {
  readonly #streams = new Set<Stream>();
  /** Who holds each response, including those that are about to be opened. */
  readonly #holders = new Map<ServerResponse, Holder>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * Reserves a place for a stream, until its response is closed.
   * @throws HttpProblem 429 when the session, its key or this process has too many
   */
  enter(response: ServerResponse, holder: Holder): void {
    const full = this.#full(holder);
    if (full !== undefined)
      throw tooMany(`${full} streams of changes open (hint: ask for the list every 10 s instead)`, 10);
    this.#holders.set(response, holder);
    response.once('close', () => this.#holders.delete(response));
  }

  /** Takes over a response whose head has been written. */
  open(response: ServerResponse, watched: Watched): void {
    const now = performance.now();
    const { known } = watched;
    const times = { openedAt: now, sentAt: Number.NEGATIVE_INFINITY, checkedAt: now, writtenAt: now };
    const stream: Stream = { ...watched, response, sent: known, ...times };
    response.write(`retry: ${RETRY_MS}\n\n`);
    if (this.#isClosed) {
      endStream(stream);
      return;
    }
    this.#streams.add(stream);
    response.once('close', () => this.#forget(stream));
    this.#check(stream);
    this.#timer ??= setInterval(() => {
      for (const one of this.#streams) this.#check(one);
    }, CHECK_MS);
  }

  /** Ends all streams, and from now on every new one as soon as it is opened. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) this.#end(stream);
  }

  /** A key is limited over all its sessions: signing in again must not take the streams of others. */
  #full({ keyId, sessionId }: Holder): string | undefined {
    const held = [...this.#holders.values()];
    if (held.length >= MAX_STREAMS.all) return `This service has its maximum of ${MAX_STREAMS.all}`;
    const ofKey = held.filter((one) => one.keyId === keyId);
    if (ofKey.length >= MAX_STREAMS.perKey) return `This API key has its maximum of ${MAX_STREAMS.perKey}`;
    const ofSession = ofKey.filter((one) => one.sessionId === sessionId);
    return sessionId !== undefined && ofSession.length >= MAX_STREAMS.perSession
      ? `This session has its maximum of ${MAX_STREAMS.perSession}`
      : undefined;
  }

  #check(stream: Stream): void {
    const now = performance.now();
    const isNews = now - stream.sentAt >= PACE_MS && stream.latest() > stream.sent;
    if (isNews || now - stream.checkedAt >= PACE_MS) {
      stream.checkedAt = now;
      if (!stream.isAllowed()) {
        this.#end(stream);
        return;
      }
    }
    if (now - stream.openedAt >= LONGEST_MS) this.#end(stream);
    else if (isNews) {
      stream.sent = stream.latest();
      stream.sentAt = now;
      // Browsers drop an event without data.
      writeTo(stream, `id: ${stream.sent}\ndata:\n\n`, now);
    } else if (now - stream.writtenAt >= COMMENT_MS) writeTo(stream, ':\n\n', now);
  }

  #end(stream: Stream): void {
    this.#forget(stream);
    endStream(stream);
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function writeTo(stream: Stream, text: string, now: number): void {
  stream.writtenAt = now;
  stream.response.write(text);
}

function endStream({ response }: Stream): void {
  const timer = setTimeout(() => response.destroy(), CLOSE_MS);
  response.once('close', () => clearTimeout(timer));
  response.end();
}
