/**
 * Checkpoints (C2SP tlog-checkpoint), by which a log signs the size and the root of a tree. The text of the signed note
 * is
 *
 *   <origin>
 *   <size, decimal>
 *   <base64 of the 32-byte root>
 *   <extension lines, which this project does not use>
 *
 * Each stream is a tree with the origin `<log name>/<stream>`, or `<log name>/<stream>/<n>` after the log's n-th recovery.
 */
import { decodeBase64 } from './base64.ts';
import { type Hash, isHash } from './hash.ts';
import type { Malformed } from './note.ts';

export interface Checkpoint {
  readonly type: 'checkpoint';
  readonly origin: string;
  /** Number of leaves. */
  readonly size: number;
  readonly root: Hash;
  /** Other logs' lines after the root, kept as they are. */
  readonly extensions: readonly string[];
}

/**
 * The stream and the recovery that an origin names; undefined when it is not an origin of this log.
 */
export function parseOrigin(
  logName: string,
  origin: string,
): { readonly stream: string; readonly recovery: number } | undefined {
  if (!origin.startsWith(`${logName}/`)) return undefined;
  const [, stream = '', recovery = '0'] =
    /^([^/]+)(?:\/([1-9][0-9]{0,14}))?$/.exec(origin.slice(logName.length + 1)) ?? [];
  return stream === '' ? undefined : { stream, recovery: Number(recovery) };
}

/** Reads the text of a checkpoint's note. Sizes above 2^53 - 1 are refused. */
export function parseCheckpoint(text: string): Checkpoint | Malformed {
  const lines = text.split('\n');
  if (lines.pop() !== '') return malformed('the last line does not end with a line break');
  if (lines.includes('')) return malformed('there is an empty line');
  const [origin, size, encodedRoot, ...extensions] = lines;
  if (origin === undefined || size === undefined || encodedRoot === undefined)
    return malformed('there are less than three lines');
  if (!/^(0|[1-9][0-9]*)$/.test(size) || !Number.isSafeInteger(Number(size)))
    return malformed('the second line is no tree size');
  const root = decodeBase64(encodedRoot);
  if (root === undefined || !isHash(root)) return malformed('the third line is no root hash');
  return { type: 'checkpoint', origin, size: Number(size), root, extensions };
}

function malformed(why: string): Malformed {
  return { type: 'malformed', why: `not a checkpoint: ${why}` };
}
