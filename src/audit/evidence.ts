/** Kept checkpoints, checked under the trusted keys and sorted by the stream that they are about. */
import { openCheckpoint } from '../ledger/checkpoint.ts';
import type { KeptCheckpoint } from '../ledger/checkpoint-file.ts';
import type { Hash } from '../ledger/merkle-hash.ts';
import type { VerifierKey } from '../ledger/verifier-key.ts';
import type { CheckpointName, UnusedCheckpoint } from './report.ts';

/** A checkpoint of one stream, signed by a trusted key. */
export interface SignedCheckpoint extends CheckpointName {
  readonly root: Hash;
}

export interface Evidence {
  /** By stream, in ascending order of size. */
  readonly byStream: ReadonlyMap<string, readonly SignedCheckpoint[]>;
  readonly unused: readonly UnusedCheckpoint[];
}

/**
 * @param logName undefined when the log does not tell its name: no origin can be compared then
 * @param use what is to become of a stream's checkpoints
 */
export function sortEvidence(
  kept: readonly KeptCheckpoint[],
  trusted: readonly VerifierKey[],
  logName: string | undefined,
  use: (stream: string) => 'compare' | 'no-such-stream' | 'not-asked-for',
): Evidence {
  const byStream = new Map<string, SignedCheckpoint[]>();
  const unused: UnusedCheckpoint[] = [];
  for (const { where, note, claims } of distinct(kept)) {
    const { origin, size, root } = claims;
    const leaveOut = (because: UnusedCheckpoint['because']) => unused.push({ where, origin, size, because });
    const checked = openCheckpoint(note, trusted);
    if (checked.type === 'bad-signature' || checked.type === 'malformed') leaveOut('forged');
    else if (checked.type === 'not-signed') leaveOut('not-trusted');
    else if (logName === undefined || !origin.startsWith(`${logName}/`)) leaveOut('other-log');
    else {
      const [stream = '', ...recovery] = origin.slice(logName.length + 1).split('/');
      const wanted = use(stream);
      if (wanted !== 'compare') leaveOut(wanted);
      else if (recovery.length > 0) leaveOut('other-recovery');
      else add(byStream, stream, { where, size, root });
    }
  }
  for (const checkpoints of byStream.values()) checkpoints.sort((a, b) => a.size - b.size);
  return { byStream, unused };
}

/** Clients keep the same receipt more than once, and a signature costs a tenth of a millisecond. */
function distinct(kept: readonly KeptCheckpoint[]): KeptCheckpoint[] {
  return [...new Map(kept.toReversed().map((one) => [one.note, one])).values()].reverse();
}

function add(lists: Map<string, SignedCheckpoint[]>, stream: string, checkpoint: SignedCheckpoint): void {
  const list = lists.get(stream);
  if (list) list.push(checkpoint);
  else lists.set(stream, [checkpoint]);
}
