/** What an EventStoreDB server is asked and what it answers, independent of the protocol that carries it. */

import type { CallError } from './errors.ts';

/** A place in the transaction log of the server. */
export interface LogPosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

export interface ReadEvent {
  readonly stream: string;
  /** Meaningless for a tombstone. */
  readonly revision: number;
  /** Whether this event deleted the stream for good. */
  readonly isTombstone: boolean;
  readonly position: LogPosition;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

export type ServerMessage =
  | { readonly type: 'event'; readonly event: ReadEvent }
  /** All that matches up to here has been delivered. */
  | { readonly type: 'checkpoint'; readonly position: LogPosition }
  | { readonly type: 'no-such-stream' };

export interface Listener {
  onMessage(message: ServerMessage): void;
  /** Called once: with an error, or without one if the server just ended it. */
  onEnd(error?: CallError): void;
}

/** What to read. `from` is inclusive for a read, and exclusive for a subscription. */
export type ReadTarget =
  | { readonly of: 'stream'; readonly stream: string; readonly from: number; readonly count: number }
  /** The last event of a stream, or of all that `$all` shows. */
  | { readonly of: 'last'; readonly stream?: string }
  | {
      readonly of: 'all';
      readonly prefix: string;
      readonly from: LogPosition | undefined;
      readonly count: number;
    }
  | { readonly of: 'live'; readonly prefix: string; readonly from: LogPosition | undefined };

export interface Answer {
  readonly messages: ServerMessage[];
  /** False if the time ran out after something had arrived. */
  readonly isWhole: boolean;
}

export type BoundedReading = Exclude<ReadTarget, { readonly of: 'live' }>;

/**
 * A prefix that all names have. An unfiltered read backwards from the end finds nothing if the last event is one that
 * `$all` hides, such as `$epoch-information` after each start of the server: server 23.10.1 looks at only as many events
 * as are asked for, and treats a page that is not full as the end. A filtered read goes on.
 */
const EVERY_STREAM = '';

/** The server's prefix for the metadata stream of a stream. */
const METADATA = '$$';

/** Prefixes of the names of the streams to read; undefined for a read of one stream. */
export function prefixesOf(reading: ReadTarget): readonly string[] | undefined {
  if (reading.of === 'stream') return undefined;
  if (reading.of !== 'last') return [reading.prefix, METADATA + reading.prefix];
  return reading.stream === undefined ? [EVERY_STREAM] : undefined;
}

/**
 * The stream of ours, without the prefix, that an event is in or whose metadata it is; undefined for other programs' events.
 * The server compares prefixes by linguistic rules, which ignore a soft hyphen, for example.
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
 * After how many events a read of `$all` is cancelled: the server would search for one more, through all events of other
 * programs, before it ends the call. It ends a read of one stream by itself.
 */
export function enough(reading: BoundedReading): number {
  if (prefixesOf(reading) === undefined || reading.of === 'stream') return Number.POSITIVE_INFINITY;
  return reading.of === 'last' ? 1 : reading.count;
}
