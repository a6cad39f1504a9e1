/**
 * Checks kept checkpoints with the trusted keys and sorts them by stream: those to compare the log with, those that a recovery
 * declares lost, and those of no use.
 */
import type { Recovery } from '../../../projections/log.ts';
import { type Hash, type KeptCheckpoint, parseOrigin } from '../../core/log/formats.ts';
import { recoveryCovering } from '../../core/log/last-checkpoints.ts';
import { openCheckpoint, type VerifierKey } from '../../core/log/signing.ts';
import type { CheckpointName, LostCheckpoint, UnusedCheckpoint } from './report/report.ts';

/**
 * Who kept the checkpoint. `elsewhere`: somebody other than the operator, so it proves something. `bundle`: it came with
 * the bundle. `data-folder`: the file in which the log saves what it signed last. The last two prove little: whoever made
 * the bundle or owns the folder chose them.
 */
export type CheckpointOrigin = 'elsewhere' | 'bundle' | 'data-folder';

/** A checkpoint to compare the log with. */
export interface GivenCheckpoint extends KeptCheckpoint {
  /** Default: `elsewhere`. */
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
  /** Checkpoints of records that a recovery declares lost: by stream, in ascending order of size. */
  readonly lost: ReadonlyMap<string, readonly LostCheckpoint[]>;
  readonly unused: readonly UnusedCheckpoint[];
}

/**
 * @param logName undefined when the log does not say its name; then no origin can be compared
 * @param use says what to do with a stream's checkpoints
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
        addToStream(lost, stream, {
          ...{ where, size, recovery: loss.recovery.recovery, kept: loss.of.kept },
          because: loss.isDeclared ? 'declared-loss' : 'undeclared-loss',
        });
      else if (wanted !== 'compare') leaveOut(wanted);
      else addToStream(byStream, stream, { where, size, root, from });
    }
  }
  sortBySize(byStream, lost);
  return { byStream, lost, unused };
}

/**
 * Adds the checkpoints that the log saved itself, as sorted by `sortEvidence`. Leaves out declared losses and streams that
 * were not asked for, because neither contradicts the log.
 */
export function withLastSigned(evidence: Evidence, noted: Evidence): Evidence {
  const byStream = new Map([...evidence.byStream].map(([stream, list]) => [stream, [...list]]));
  const lost = new Map([...evidence.lost].map(([stream, list]) => [stream, [...list]]));
  for (const [stream, list] of noted.byStream) for (const one of list) addToStream(byStream, stream, one);
  for (const [stream, list] of noted.lost)
    for (const one of list) if (one.because === 'undeclared-loss') addToStream(lost, stream, one);
  const contradicting = noted.unused.filter(
    ({ because }) => because !== 'declared-loss' && because !== 'not-asked-for',
  );
  sortBySize(byStream, lost);
  return { byStream, lost, unused: [...evidence.unused, ...contradicting] };
}

/**
 * Drops duplicates, keeping the first of each: clients keep the same receipt more than once, and checking a signature
 * takes a tenth of a millisecond.
 */
function distinct(kept: readonly GivenCheckpoint[]): GivenCheckpoint[] {
  return [...new Map(kept.toReversed().map((one) => [one.note, one])).values()].reverse();
}

function addToStream<T>(lists: Map<string, T[]>, stream: string, checkpoint: T): void {
  const list = lists.get(stream);
  if (list) list.push(checkpoint);
  else lists.set(stream, [checkpoint]);
}

function sortBySize(...lists: ReadonlyMap<string, { size: number }[]>[]): void {
  for (const map of lists) for (const list of map.values()) list.sort((a, b) => a.size - b.size);
}
