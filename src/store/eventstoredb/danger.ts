/** Records that the server has removed from streams, or will remove. */
import { BrokenStream } from '../event-store.ts';

/** Where the documents say how to prevent it. */
export const RIGHTS = 'see "A user that cannot delete" in docs/instances.md';

/** Metadata that makes the server truncate a stream for every reader, and remove the records at the next scavenge. */
const CUTTING = ['$maxCount', '$maxAge', '$tb'] as const;

const SHOWN = 40;

/** From here on a `$tb` is not a revision: the stream was deleted, and can be restored. */
const SOFT_DELETED = Number.MAX_SAFE_INTEGER;

/**
 * Why records of a stream will be removed, and how to keep them; undefined if nothing removes them.
 * @param stream its name in the server, with the prefix
 * @param metadata the last event of its metadata stream
 */
export function dangerIn(stream: string, metadata: Uint8Array): string | undefined {
  const set = parsed(metadata);
  const cutting = CUTTING.filter((name) => set[name] !== undefined && set[name] !== null && set[name] !== 0);
  if (cutting.length === 0) return undefined;
  const isDeleted = Number(set['$tb']) >= SOFT_DELETED;
  const why = isDeleted
    ? 'was deleted in EventStoreDB, but can still be restored'
    : `has ${cutting.map((name) => `${name} ${valueText(set[name])}`).join(' and ')} in its metadata`;
  return `the stream ${stream} ${why}: the next scavenge removes its records for good (hint: let nobody scavenge, and run as administrator of EventStoreDB: ${commandFor(stream)}; ${RIGHTS})`;
}

/** The server ignores values that are not numbers. They are cut here, so that nobody can fill the output with them. */
function valueText(value: unknown): string {
  return typeof value === 'number' ? String(value) : JSON.stringify(value).slice(0, SHOWN);
}

/** The command that undoes it. */
function commandFor(stream: string): string {
  return `node deploy/eventstoredb.mjs keep ${stream}`;
}

/** Records are missing. @param prefix of the stream's name in the server */
export function missing(prefix: string, stream: string, from: number, to: number | 'the end'): BrokenStream {
  return new BrokenStream(
    'corrupt',
    'not-written',
    `records of ${stream} are missing in EventStoreDB, from revision ${from} to ${to} (hint: $maxCount, $maxAge, $tb or a deletion cut them off; unless a scavenge has removed them, this command, run as administrator of EventStoreDB, restores them: ${commandFor(prefix + stream)}; otherwise restore a backup; ${RIGHTS})`,
  );
}

/** The stream was deleted for good. */
export function deleted(stream: string, cause?: Error): BrokenStream {
  return new BrokenStream(
    'corrupt',
    'not-written',
    `the stream ${stream} was deleted in EventStoreDB for good (hint: restore a backup; ${RIGHTS})`,
    cause,
  );
}

/** What is not a JSON object means nothing to the server either. */
function parsed(metadata: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(metadata).toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
