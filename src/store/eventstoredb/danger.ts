/** What of streams the server can take away: what it has taken, and what it will. */
import { BrokenStream } from '../event-store.ts';
import type { CallError } from './errors.ts';

/** Where the documents say how to keep everybody from doing it. */
export const RIGHTS = 'see "A user that cannot delete" in docs/instances.md';

/** Metadata with which the server cuts a stream off, whoever reads it, and removes the records at the next scavenge. */
const CUTTING = ['$maxCount', '$maxAge', '$tb'] as const;

const SHOWN = 40;

/** From here on a `$tb` is no revision: the stream was deleted, and can be brought back. */
const SOFT_DELETED = Number.MAX_SAFE_INTEGER;

/**
 * Why records of a stream will be removed, and how to keep them; undefined when nothing removes them.
 * @param stream with its prefix, as the server calls it
 * @param metadata the last event of the stream of its metadata
 */
export function dangerIn(stream: string, metadata: Uint8Array): string | undefined {
  const set = parsed(metadata);
  const cutting = CUTTING.filter((name) => set[name] !== undefined && set[name] !== null && set[name] !== 0);
  if (cutting.length === 0) return undefined;
  const isDeleted = Number(set['$tb']) >= SOFT_DELETED;
  const why = isDeleted
    ? 'was deleted in EventStoreDB, and can still be brought back'
    : `has ${cutting.map((name) => `${name} ${shown(set[name])}`).join(' and ')} in its metadata`;
  return `the stream ${stream} ${why}: the next scavenge removes its records for good (hint: let nobody scavenge, and run as administrator of EventStoreDB: ${commandFor(stream)}; ${RIGHTS})`;
}

/** What is no number, the server takes for no metadata; whoever wrote it shall not fill the log with it. */
function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : JSON.stringify(value).slice(0, SHOWN);
}

/** What undoes it. */
function commandFor(stream: string): string {
  return `node deploy/eventstoredb.mjs keep ${stream}`;
}

/** Records are not where they must be. @param prefix that the server has before the name of the stream */
export function missing(prefix: string, stream: string, from: number, to: number | 'the end'): BrokenStream {
  return new BrokenStream(
    'corrupt',
    'not-written',
    `records of ${stream} are missing in EventStoreDB, from revision ${from} to ${to} (hint: $maxCount, $maxAge, $tb or a deletion cut them off; unless a scavenge has removed them, this brings them back, run as administrator of EventStoreDB: ${commandFor(prefix + stream)}; else restore a backup; ${RIGHTS})`,
  );
}

/** The stream was deleted for good. */
export function deleted(stream: string, cause?: CallError): BrokenStream {
  return new BrokenStream(
    'corrupt',
    'not-written',
    `the stream ${stream} was deleted in EventStoreDB, for good (hint: restore a backup; ${RIGHTS})`,
    cause,
  );
}

/** JSON that is no object, and what is no JSON, means nothing to the server either. */
function parsed(metadata: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(metadata).toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
