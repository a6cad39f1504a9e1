/**
 * What happened besides the allocations, for readers: as JSON, which `GET /operations` and `urn operations --json` show, and
 * in words, one line each.
 */
import { z } from 'zod';
import {
  EvidenceDisclosed,
  RequestRefused,
  ServiceStarted,
  ServiceStopped,
  SessionBegan,
  SessionEnded,
} from '../../../events/operations.ts';
import { Actor, type EventOf, type LogEvent } from '../../../events/record.ts';
import { RECORDED_REASONS } from '../../base/refusals.ts';
import { onOneLine } from '../../base/text.ts';
import { OPERATIONS } from './operations-stream.ts';

/** The members that all operations have. */
const COMMON_MEMBERS = {
  revision: z.int().nonnegative(),
  at: z.string().meta({ description: 'When it was written, in ISO 8601 (UTC)' }),
  actor: Actor.meta({
    description:
      'The user of the key. For a start or stop, the user who runs the service. For the command line, `cli`.',
  }),
};

export const Operation = z.discriminatedUnion('type', [
  z.strictObject({ ...COMMON_MEMBERS, type: z.literal('ServiceStarted'), data: ServiceStarted.data }),
  z.strictObject({ ...COMMON_MEMBERS, type: z.literal('ServiceStopped'), data: ServiceStopped.data }),
  z.strictObject({ ...COMMON_MEMBERS, type: z.literal('RequestRefused'), data: RequestRefused.data }),
  z.strictObject({ ...COMMON_MEMBERS, type: z.literal('EvidenceDisclosed'), data: EvidenceDisclosed.data }),
  z.strictObject({ ...COMMON_MEMBERS, type: z.literal('SessionBegan'), data: SessionBegan.data }),
  z.strictObject({ ...COMMON_MEMBERS, type: z.literal('SessionEnded'), data: SessionEnded.data }),
]);

/** An `Operation`, if the event is of the stream `operations`. */
export function operationOf({ revision, at, type, actor, data }: LogEvent) {
  return { revision, at, type, actor, data };
}

/** Name of the study that an event is about; undefined if there is none, or the event is of another stream. */
export function studyOf(event: LogEvent): string | undefined {
  return event.type === 'RequestRefused' || event.type === 'EvidenceDisclosed' ? event.data.study : undefined;
}

/** When, who and what. @throws Error for an event of another stream */
export function describeOperation(event: LogEvent): string {
  return onOneLine(`${event.at}  ${actorText(event.actor)}  ${operationText(event)}`);
}

function actorText(actor: Actor): string {
  return 'cli' in actor ? `${actor.user} (command line)` : `${actor.user} (${actor.keyId})`;
}

function operationText(event: LogEvent): string {
  switch (event.type) {
    case 'ServiceStarted':
      return `started the service ${ranAs(event)}`;
    case 'ServiceStopped':
      return `stopped the service ${ranAs(event)}`;
    case 'RequestRefused': {
      const { operation = 'requests', study, reason } = event.data;
      const of = study === undefined ? '' : ` of ${study}`;
      return `was refused ${operation}${of}: ${RECORDED_REASONS[reason]}${timesText(event)}`;
    }
    case 'EvidenceDisclosed':
      return `was shown ${disclosureText(event)} of ${event.data.study}${timesText(event)}`;
    case 'SessionBegan':
      return `signed in (session ${event.data.sessionId})`;
    case 'SessionEnded':
      return `signed out (session ${event.data.sessionId})`;
    default:
      throw new Error(`${event.type} does not belong in the stream ${OPERATIONS}`);
  }
}

function ranAs({ data }: EventOf<'ServiceStarted'> | EventOf<'ServiceStopped'>): string {
  return `version ${data.version} on Node ${data.nodeVersion} (run ${data.runId})`;
}

function disclosureText({ data }: EventOf<'EvidenceDisclosed'>): string {
  const { what: kind, participant, fromRevision, toRevision, content, sha256, interim } = data;
  const of = participant === undefined ? '' : ` of participant ${participant}`;
  const at = toRevision === undefined ? '' : ` up to revision ${toRevision}`;
  switch (kind) {
    case 'balance':
      return `the balance${at}`;
    case 'bundle':
      return `a bundle (${content ?? 'unknown content'}${sha256 === undefined ? '' : `, SHA-256 ${sha256}`})`;
    case 'codes':
      return `which treatment packs hold${at}`;
    case 'envelopes':
      return `the printed code-break${of}`;
    case 'expected-balance':
      return `the balance and what is expected of it${at}`;
    case 'export':
      return `an export${at} (${content ?? 'unknown content'}${sha256 === undefined ? '' : `, SHA-256 ${sha256}`})`;
    case 'explanation':
      return `the explanation${of}`;
    case 'generator-states':
      return `states of the generator${of}${at}`;
    case 'records':
      return content === undefined
        ? `the records ${fromRevision ?? 0} to ${toRevision ?? 'the last'}`
        : `a feed of the records from ${fromRevision ?? 0} on (${content})`;
    case 'rerandomization': {
      const why = interim === undefined ? '' : `, as an interim look (${interim})`;
      return `a re-randomization test${at} (outcomes with SHA-256 ${sha256 ?? 'unknown'})${why}`;
    }
    case 'seed':
      return 'the seed';
    case 'verification':
      return `the report of a verification${at}`;
  }
}

/** If an event was written when it happened, the beginning of the line already shows the time. */
const AT_ONCE_MS = 1000;

function timesText({ at, data }: EventOf<'RequestRefused'> | EventOf<'EvidenceDisclosed'>): string {
  const { count, firstAt, lastAt } = data;
  if (count > 1) return `; ${count} times, from ${firstAt} to ${lastAt}`;
  return Math.abs(Date.parse(at) - Date.parse(firstAt)) <= AT_ONCE_MS ? '' : `; once, at ${firstAt}`;
}
