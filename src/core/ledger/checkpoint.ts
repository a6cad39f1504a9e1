/** Signs checkpoints, and checks who signed one. */
import { type Checkpoint, parseCheckpoint } from './checkpoint-text.ts';
import { type Hash, isHash } from './hash.ts';
import { checkNote, type NoteCheck, signNote } from './signed-note.ts';
import type { SigningKey } from './signing-key.ts';
import type { VerifierKey } from './verifier-key.ts';

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
