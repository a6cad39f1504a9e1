/** What is asked of an EventStoreDB server and what it says, without a word of the protocol that carries it. */

import type { CallError } from './errors.ts';

/** A place in the transaction log of the server. */
export interface LogPosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

export interface ReadEvent {
  readonly stream: string;
  /** Means nothing for a tombstone. */
  readonly revision: number;
  /** The stream was deleted for good with it. */
  readonly isTombstone: boolean;
  readonly position: LogPosition;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

export type Message =
  | { readonly type: 'event'; readonly event: ReadEvent }
  /** All that matches up to here has been delivered. */
  | { readonly type: 'checkpoint'; readonly position: LogPosition }
  | { readonly type: 'no-such-stream' };

export interface Listener {
  onMessage(message: Message): void;
  /** Called once: with an error, or without one when the server just ended it. */
  onEnd(error?: CallError): void;
}

/** What to read. `from` is inclusive for a read, and exclusive for a subscription. */
export type Reading =
  | { readonly of: 'stream'; readonly stream: string; readonly from: number; readonly count: number }
  /** The last event of a stream, or of those that `$all` shows. */
  | { readonly of: 'last'; readonly stream?: string }
  | {
      readonly of: 'all';
      readonly prefix: string;
      readonly from: LogPosition | undefined;
      readonly count: number;
    }
  | { readonly of: 'live'; readonly prefix: string; readonly from: LogPosition | undefined };

export interface Answer {
  readonly messages: Message[];
  /** False when the time was up first, and something had come. */
  readonly isWhole: boolean;
}

export type BoundedReading = Exclude<Reading, { readonly of: 'live' }>;

/**
 * A prefix that all names have. An unfiltered read backwards from the end finds nothing when the last event is one that
 * `$all` hides, `$epoch-information` after each start of the server for instance: server 23.10.1 looks at as many events
 * as are asked for, and takes a page that is not full for the end. A filtered read goes on.
 */
const EVERY_STREAM = '';

/** What the server puts before the name of a stream for the stream of its metadata. */
const METADATA = '$$';

/** What the names of the streams begin with that are read; undefined for a read of one stream. */
export function prefixesOf(reading: Reading): readonly string[] | undefined {
  if (reading.of === 'stream') return undefined;
  if (reading.of !== 'last') return [reading.prefix, METADATA + reading.prefix];
  return reading.stream === undefined ? [EVERY_STREAM] : undefined;
}

/**
 * Which of our streams an event is in, without the prefix, or whose metadata it is; undefined for those of others. The
 * server compares prefixes by the rules of a language, which overlook a soft hyphen for instance.
 */
export function placeOf(
  prefix: string,
  { stream }: Pick<ReadEvent, 'stream'>,
): { readonly of: 'record' | 'metadata'; readonly stream: string } | undefined {
  const of = stream.startsWith(METADATA) ? 'metadata' : 'record';
  const name = of === 'metadata' ? stream.slice(METADATA.length) : stream;
  return name.startsWith(prefix) ? { of, stream: name.slice(prefix.length) } : undefined;
}

export function metadataStream(stream: string): string {
  return METADATA + stream;
}

/**
 * With how many events a read of `$all` is given up: the server would go on to search for one more, through as many of
 * other programs as there are, before it ends the call. A read of one stream it ends by itself.
 */
export function enough(reading: BoundedReading): number {
  if (prefixesOf(reading) === undefined || reading.of === 'stream') return Number.POSITIVE_INFINITY;
  return reading.of === 'last' ? 1 : reading.count;
}
