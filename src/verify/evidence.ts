/** Kept checkpoints, checked under the trusted keys and sorted by the stream that they are about. */
import type { Recovery } from '../../projections/log.ts';
import { openCheckpoint, parseOrigin } from '../ledger/checkpoint.ts';
import type { KeptCheckpoint } from '../ledger/checkpoint-file.ts';
import { recoveryCovering } from '../ledger/covering-recovery.ts';
import type { Hash } from '../ledger/merkle-hash.ts';
import type { VerifierKey } from '../ledger/verifier-key.ts';
import type { CheckpointName, LostCheckpoint, UnusedCheckpoint } from './report.ts';

/**
 * Who had the checkpoint. `elsewhere`: somebody else than the operator, so it proves something. `bundle`: it came with the
 * bundle. `data-folder`: the log's own note of what it signed last. Whoever made the bundle, or owns the folder, chose
 * the latter two.
 */
export type CheckpointOrigin = 'elsewhere' | 'bundle' | 'data-folder';

/** A checkpoint to compare with. */
export interface GivenCheckpoint extends KeptCheckpoint {
  /** Absent: elsewhere. */
  readonly from?: CheckpointOrigin;
}

/** A checkpoint of one stream, signed by a trusted key. */
export interface SignedCheckpoint extends CheckpointName {
  readonly root: Hash;
  readonly from: CheckpointOrigin;
}

export interface Evidence {
  /** By stream, in ascending order of size. */
  readonly byStream: ReadonlyMap<string, readonly SignedCheckpoint[]>;
  /** By stream, in ascending order of size: those of records that a recovery declares lost. */
  readonly lost: ReadonlyMap<string, readonly LostCheckpoint[]>;
  readonly unused: readonly UnusedCheckpoint[];
}

/**
 * @param logName undefined when the log does not tell its name: no origin can be compared then
 * @param use what is to become of a stream's checkpoints
 */
export function sortEvidence(
  kept: readonly GivenCheckpoint[],
  trusted: readonly VerifierKey[],
  logName: string | undefined,
  recoveries: readonly Recovery[],
  use: (stream: string) => 'compare' | 'no-such-stream' | 'not-asked-for',
): Evidence {
  const byStream = new Map<string, SignedCheckpoint[]>();
  const lost = new Map<string, LostCheckpoint[]>();
  const lastRecovery = recoveries.at(-1)?.recovery ?? 0;
  const unused: UnusedCheckpoint[] = [];
  for (const { where, note, claims, from = 'elsewhere' } of distinct(kept)) {
    const { origin, size, root } = claims;
    const leaveOut = (because: UnusedCheckpoint['because']) => unused.push({ where, origin, size, because });
    const checked = openCheckpoint(note, trusted);
    if (checked.type === 'bad-signature' || checked.type === 'malformed') leaveOut('forged');
    else if (checked.type === 'not-signed') leaveOut('not-trusted');
    else {
      const place = logName === undefined ? undefined : parseOrigin(logName, origin);
      if (!place) {
        leaveOut('other-log');
        continue;
      }
      const { stream, recovery } = place;
      const wanted = use(stream);
      const loss = recoveryCovering(recoveries, { stream, recovery, size, root });
      if (wanted === 'not-asked-for') leaveOut(wanted);
      else if (recovery > lastRecovery) leaveOut('other-recovery');
      else if (loss && wanted === 'no-such-stream') leaveOut('declared-loss');
      else if (loss)
        add(lost, stream, {
          ...{ where, size, recovery: loss.recovery.recovery, kept: loss.of.kept },
          because: loss.isDeclared ? 'declared-loss' : 'undeclared-loss',
        });
      else if (wanted !== 'compare') leaveOut(wanted);
      else add(byStream, stream, { where, size, root, from });
    }
  }
  sortBySize(byStream, lost);
  return { byStream, lost, unused };
}

function sortBySize(...lists: ReadonlyMap<string, { size: number }[]>[]): void {
  for (const map of lists) for (const list of map.values()) list.sort((a, b) => a.size - b.size);
}

/**
 * Adds what the log noted itself, as `sortEvidence` sorted it. What a recovery declares lost is known to be gone, and a
 * stream that was not asked for is no matter: neither contradicts the log.
 */
export function withLastSigned(evidence: Evidence, noted: Evidence): Evidence {
  const byStream = new Map([...evidence.byStream].map(([stream, list]) => [stream, [...list]]));
  const lost = new Map([...evidence.lost].map(([stream, list]) => [stream, [...list]]));
  for (const [stream, list] of noted.byStream) for (const one of list) add(byStream, stream, one);
  for (const [stream, list] of noted.lost)
    for (const one of list) if (one.because === 'undeclared-loss') add(lost, stream, one);
  const contradicting = noted.unused.filter(
    ({ because }) => because !== 'declared-loss' && because !== 'not-asked-for',
  );
  sortBySize(byStream, lost);
  return { byStream, lost, unused: [...evidence.unused, ...contradicting] };
}

/**
 * The first of those that are the same: clients keep the same receipt more than once, and a signature costs a tenth of
 * a millisecond.
 */
function distinct(kept: readonly GivenCheckpoint[]): GivenCheckpoint[] {
  return [...new Map(kept.toReversed().map((one) => [one.note, one])).values()].reverse();
}

function add<T>(lists: Map<string, T[]>, stream: string, checkpoint: T): void {
  const list = lists.get(stream);
  if (list) list.push(checkpoint);
  else lists.set(stream, [checkpoint]);
}
