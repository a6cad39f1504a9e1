/**
 * What a log says about itself. It is read before anything is verified, because the rest depends on it. None of it is
 * certain until the stream `log` has been verified.
 */

import { streamKind } from '../../../events/catalogue.ts';
import type { RecoveredStream } from '../../../events/log.ts';
import type { LogEvent } from '../../../events/record.ts';
import { type LogHistory, logHistory } from '../../../projections/log.ts';
import { isMoveEvent } from '../../../projections/runner.ts';
import type { VerifierKey } from '../../core/log/signing.ts';
import { isEndorsed, keyOfLog } from '../../core/log/signing.ts';
import { decode } from './decoding.ts';
import type { SourceReading } from './reading.ts';
import type { RecordSource } from './source.ts';
import { moveName } from './stream-audit.ts';

type LogCreation = Extract<LogEvent, { type: 'LogCreated' }>['data'];

export interface ClaimedIdentity extends LogCreation, LogHistory {
  /** The first key and its successors, as long as each was endorsed by its predecessor. */
  readonly keys: readonly VerifierKey[];
  /** By `moveName`. */
  readonly moves: ReadonlySet<string>;
}

/** Undefined when the log does not begin with LogCreated. */
export async function readIdentity(
  source: RecordSource,
  reading: SourceReading,
): Promise<ClaimedIdentity | undefined> {
  let history = logHistory.initial();
  let created: LogCreation | undefined;
  const keys: VerifierKey[] = [];
  const moves = new Set<string>();
  for await (const page of source.read('log'))
    for (const record of page) {
      const decoded = reading.others(record);
      if (!('event' in decoded)) {
        // Later records may still make sense without this one, but not without the first.
        if (!created) return undefined;
        continue;
      }
      const { event } = decoded;
      if (!created) {
        if (event.type !== 'LogCreated') return undefined;
        created = event.data;
      }
      history = logHistory.apply(history, event);
      if (isMoveEvent(event)) moves.add(moveName(event));
      const key = nextKey(event, created, keys.at(-1));
      if (key) keys.push(key);
    }
  if (!created) return undefined;
  const isComplete = history.recoveries.length === 0 || !reading.hidesRecoveredStudies;
  const complete = isComplete
    ? history
    : withRecoveredStudies(history, await recoveredStudies(source, reading));
  return { ...created, ...complete, keys, moves };
}

/** The contents of StudyRecovered. LogRecovered of the same number says the same unless it is withheld. */
type RecoveredStudy = RecoveredStream & { readonly recovery: number };

async function recoveredStudies(source: RecordSource, reading: SourceReading): Promise<RecoveredStudy[]> {
  const decodeStudy = reading.undrawn ?? decode;
  const found: RecoveredStudy[] = [];
  for (const stream of (await source.streams()).filter((name) => streamKind(name) === 'study'))
    for await (const page of source.read(stream))
      for (const record of page) {
        const decoded = decodeStudy(record);
        if ('event' in decoded && decoded.event.type === 'StudyRecovered')
          found.push({ stream, ...decoded.event.data });
      }
  return found;
}

function withRecoveredStudies(history: LogHistory, studies: readonly RecoveredStudy[]): LogHistory {
  const recoveries = history.recoveries.map((one) => {
    const of = studies.filter(({ recovery }) => recovery === one.recovery);
    return { ...one, streams: new Map([...one.streams, ...of.map((each) => [each.stream, each] as const)]) };
  });
  return { ...history, recoveries };
}

function nextKey(
  event: LogEvent,
  { logName, logId }: LogCreation,
  last?: VerifierKey,
): VerifierKey | undefined {
  if (event.type === 'LogCreated') return last ? undefined : keyOfLog(event.data.publicKey, logName);
  if (event.type !== 'SigningKeyRotated' || !last) return undefined;
  const { publicKey, endorsement } = event.data;
  return isEndorsed(endorsement, { logName, logId, publicKey }, last)
    ? keyOfLog(publicKey, logName)
    : undefined;
}

/**
 * The keys with which checkpoints are checked: the keys given as trusted and every key that one of them endorsed,
 * directly or through others. If none was given, all of the log's own keys.
 */
export function trustedKeys(
  given: readonly VerifierKey[],
  own: readonly VerifierKey[],
): readonly VerifierKey[] {
  if (given.length === 0) return own;
  const first = own.findIndex(({ text }) => given.some((key) => key.text === text));
  const endorsed = first < 0 ? [] : own.slice(first);
  return [...given, ...endorsed.filter(({ text }) => !given.some((key) => key.text === text))];
}
