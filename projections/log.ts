/** What the log says of itself: how often it was recovered from a backup, and what was lost each time. */
import type { RecoveredStream } from '../events/log.ts';
import type { Projection } from './projection.ts';

export interface Recovery {
  readonly recovery: number;
  readonly reason: string;
  readonly at: string;
  /** By stream: each that the log had then, or had signed anything of. */
  readonly streams: ReadonlyMap<string, RecoveredStream>;
}

export interface LogHistory {
  /** In their order, which is that of their numbers. */
  readonly recoveries: readonly Recovery[];
}

export const logHistory: Projection<LogHistory> = {
  name: 'log-history',
  stream: 'log',
  initial: () => ({ recoveries: [] }),
  apply(state, event) {
    if (event.type !== 'LogRecovered') return state;
    const { recovery, reason, streams } = event.data;
    const all = [...streams, ...event.sections.studies.streams];
    const byName = new Map(all.map((one) => [one.stream, one]));
    return {
      ...state,
      recoveries: [...state.recoveries, { recovery, reason, at: event.at, streams: byName }],
    };
  },
};

/** Number of the last recovery; 0 for a log that never was recovered. */
export function lastRecovery({ recoveries }: LogHistory): number {
  return recoveries.at(-1)?.recovery ?? 0;
}
