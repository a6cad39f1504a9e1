/**
 * What the log says about itself: its signing keys, its recoveries from backups with what was lost, and its moves to another
 * store.
 */
import type { RecoveredStream } from '../events/log.ts';
import type { LogEvent } from '../events/record.ts';
import { RecordError } from '../src/base/errors.ts';
import type { Projection } from './runner.ts';

export interface Recovery {
  readonly recovery: number;
  readonly reason: string;
  readonly at: string;
  /** By stream: every stream that the log had, or had ever signed, at the time. */
  readonly streams: ReadonlyMap<string, RecoveredStream>;
}

export interface LogHistory {
  /** How many there are in `log`. */
  readonly records: number;
  /** Verifier keys, the current one last. */
  readonly publicKeys: readonly string[];
  /** In ascending order of their numbers. */
  readonly recoveries: readonly Recovery[];
  /** Set while LogMoved is the last record: then nothing is recorded here, in any stream. */
  readonly moved?: Move | undefined;
  /** Ids of all moves. */
  readonly moves: readonly string[];
}

interface Move {
  readonly move: string;
  /** Where the log continues, described for people. */
  readonly to: string;
}

/** Halts the stream at an event that has no place there. */
export const logHistory: Projection<LogHistory> = {
  name: 'log-history',
  stream: 'log',
  initial: () => ({ records: 0, publicKeys: [], recoveries: [], moves: [] }),
  apply(state, event) {
    const wrong = outOfPlace(state, event);
    if (wrong)
      throw new RecordError(
        'misplaced',
        `${event.stream}/${event.revision}`,
        `${wrong.found} has no place here: ${wrong.why}`,
      );
    return historyAfter(state, event);
  },
};

/** The history after an event, wherever it stands. */
export function historyAfter(before: LogHistory, event: LogEvent): LogHistory {
  const state = { ...before, records: before.records + 1 };
  switch (event.type) {
    case 'LogCreated':
    case 'SigningKeyRotated':
      return { ...state, publicKeys: [...state.publicKeys, event.data.publicKey] };
    case 'LogRecovered': {
      const { recovery, reason, streams } = event.data;
      const all = [...streams, ...event.sections.studies.streams];
      const byName = new Map(all.map((one) => [one.stream, one]));
      const recovered = { recovery, reason, at: event.at, streams: byName };
      return { ...state, recoveries: [...state.recoveries, recovered], moved: undefined };
    }
    case 'LogMoved':
      return { ...state, moved: event.data, moves: [...state.moves, event.data.move] };
    case 'LogArrived':
      return { ...state, moved: undefined };
    default:
      return state;
  }
}

interface OutOfPlace {
  readonly field: string;
  readonly expected: string | undefined;
  readonly found: string;
  readonly why: string;
}

/** Why an event of `log` may not follow those before it, as far as moves are concerned; undefined if it may. */
export function outOfPlace({ moved, moves }: LogHistory, { type, data }: LogEvent): OutOfPlace | undefined {
  if (type === 'LogArrived') {
    if (!moved) return misplacedBy('type', undefined, type, 'LogMoved does not come directly before it');
    if (data.move !== moved.move)
      return misplacedBy(
        'data.move',
        moved.move,
        data.move,
        'it is of another move than the LogMoved before it',
      );
  } else if (moved && type !== 'LogRecovered') {
    const why = 'only these may follow LogMoved: the log continues in another store';
    return misplacedBy('type', 'LogArrived or LogRecovered', type, why);
  } else if (type === 'LogMoved' && moves.includes(data.move))
    return misplacedBy('data.move', 'a new move', data.move, 'the log was moved under this id before');
  return undefined;
}

function misplacedBy(field: string, expected: string | undefined, found: string, why: string): OutOfPlace {
  return { field, expected, found, why };
}

/** Number of the last recovery; 0 for a log that was never recovered. */
export function lastRecovery({ recoveries }: LogHistory): number {
  return recoveries.at(-1)?.recovery ?? 0;
}
