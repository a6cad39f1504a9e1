/** What the log says about itself: its signing keys, and its recoveries from backups with what was lost. */
import type { RecoveredStream } from '../events/log.ts';
import type { Projection } from './runner.ts';

export interface Recovery {
  readonly recovery: number;
  readonly reason: string;
  readonly at: string;
  /** By stream: every stream that the log had, or had ever signed, at the time. */
  readonly streams: ReadonlyMap<string, RecoveredStream>;
}

export interface LogHistory {
  /** Verifier keys, the current one last. */
  readonly publicKeys: readonly string[];
  /** In ascending order of their numbers. */
  readonly recoveries: readonly Recovery[];
}

export const logHistory: Projection<LogHistory> = {
  name: 'log-history',
  stream: 'log',
  initial: () => ({ publicKeys: [], recoveries: [] }),
  apply(state, event) {
    switch (event.type) {
      case 'LogCreated':
      case 'SigningKeyRotated':
        return { ...state, publicKeys: [...state.publicKeys, event.data.publicKey] };
      case 'LogRecovered': {
        const { recovery, reason, streams } = event.data;
        const all = [...streams, ...event.sections.studies.streams];
        const byName = new Map(all.map((one) => [one.stream, one]));
        const recovered = { recovery, reason, at: event.at, streams: byName };
        return { ...state, recoveries: [...state.recoveries, recovered] };
      }
      default:
        return state;
    }
  },
};

/** Number of the last recovery; 0 for a log that was never recovered. */
export function lastRecovery({ recoveries }: LogHistory): number {
  return recoveries.at(-1)?.recovery ?? 0;
}
