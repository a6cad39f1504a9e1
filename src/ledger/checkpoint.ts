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
import { type Hash, isHash } from './merkle-hash.ts';
import { checkNote, type Malformed, type NoteCheck, signNote } from './signed-note.ts';
import type { SigningKey } from './signing-key.ts';
import type { VerifierKey } from './verifier-key.ts';

export interface Checkpoint {
  readonly type: 'checkpoint';
  readonly origin: string;
  /** Number of leaves. */
  readonly size: number;
  readonly root: Hash;
  /** Other logs' lines after the root, kept as they are. */
  readonly extensions: readonly string[];
}

export type CheckpointCheck =
  | { readonly type: 'signed'; readonly checkpoint: Checkpoint; readonly by: readonly VerifierKey[] }
  | Exclude<NoteCheck, { type: 'signed' }>;

/**
 * @param recovery number of the log's last recovery; 0 if there was none
 * @throws RangeError when `recovery` is not a count
 */
export function checkpointOrigin(logName: string, stream: string, recovery = 0): string {
  if (!Number.isSafeInteger(recovery) || recovery < 0)
    throw new RangeError(`there is no recovery ${recovery}`);
  return recovery === 0 ? `${logName}/${stream}` : `${logName}/${stream}/${recovery}`;
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

/**
 * A signed note saying that the tree of `origin` has `size` leaves and this root. Sign only what the store has
 * acknowledged, never anything whose outcome is still open.
 *
 * @throws RangeError when the parts do not make a valid checkpoint
 */
export function signCheckpoint(origin: string, size: number, root: Hash, key: SigningKey): string {
  return signNote(formatCheckpoint(origin, size, root), key);
}

/** @throws RangeError when the parts do not make a valid checkpoint */
export function formatCheckpoint(origin: string, size: number, root: Hash): string {
  if (origin === '' || origin.includes('\n')) throw new RangeError('an origin is one line');
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`no tree has ${size} leaves`);
  if (!isHash(root)) throw new RangeError(`a root has 32 bytes, not ${root.length}`);
  return `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;
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

/**
 * Checks who signed a checkpoint, and reads it.
 *
 * One key signs all streams of a log, so the caller must compare the origin with that of the stream in question: a
 * checkpoint of another stream has a valid signature too.
 *
 * @param trusted keys from outside; a key that comes with the checkpoint proves nothing
 */
export function openCheckpoint(note: string | Uint8Array, trusted: readonly VerifierKey[]): CheckpointCheck {
  const checked = checkNote(note, trusted);
  if (checked.type !== 'signed') return checked;
  const checkpoint = parseCheckpoint(checked.text);
  return checkpoint.type === 'malformed' ? checkpoint : { type: 'signed', checkpoint, by: checked.by };
}

function malformed(why: string): Malformed {
  return { type: 'malformed', why: `not a checkpoint: ${why}` };
}
