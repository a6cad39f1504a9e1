/**
 * Where a stream continues after moves of its log. Every fold of a stream must take this into account. Only `log` is closed
 * now, for all streams; versions up to 0.3.0 closed each.
 *
 *   open ── LogMoved ──> closed ── LogReopened | LogArrived ──> open
 *                        closed ── CopyAborted (only in `log`) ──> dead
 *
 * Nothing else may follow LogMoved, and nothing at all may follow CopyAborted.
 */
import { streamKind } from '../events/catalogue.ts';
import type { MoveFact } from '../events/log.ts';
import type { LogEvent, PartialEvent } from '../events/record.ts';

export type Movement =
  | {
      readonly status: 'open';
      /** Moves that began and ended in this stream. No move may begin twice. */
      readonly ended: readonly string[];
    }
  | {
      readonly status: 'closed';
      readonly move: string;
      /** Where the log continues, described for people. */
      readonly to: string;
      readonly ended: readonly string[];
    }
  | { readonly status: 'dead'; readonly move: string };

export const NEVER_MOVED: Movement = { status: 'open', ended: [] };

/** Why an event cannot be where it is. */
export interface OutOfPlace {
  readonly field: string;
  readonly expected: string | undefined;
  readonly found: string;
  readonly why: string;
}

type MoveEvent = Extract<LogEvent, { type: MoveFact['type'] }>;

export function isMoveEvent<E extends PartialEvent>(
  event: E,
): event is Extract<E, { type: MoveFact['type'] }> {
  const { type } = event;
  return type === 'LogMoved' || type === 'LogReopened' || type === 'LogArrived' || type === 'CopyAborted';
}

/** Why an event may not follow the events that led to `before`; undefined if it may. */
export function outOfPlace(before: Movement, event: PartialEvent): OutOfPlace | undefined {
  const { type } = event;
  if (before.status === 'dead')
    return outOf(
      'type',
      undefined,
      type,
      'nothing may follow CopyAborted: this copy of the log was given up',
    );
  if (!isMoveEvent(event)) {
    if (before.status === 'open') return undefined;
    const why = 'only these may follow LogMoved: the log continues in another store';
    return outOf('type', 'LogReopened or LogArrived', type, why);
  }
  const { move } = event.data;
  if (event.type !== 'LogMoved') {
    if (before.status === 'open')
      return outOf('type', undefined, type, 'LogMoved does not come directly before it');
    if (before.move !== move)
      return outOf('data.move', before.move, move, 'it is of another move than the LogMoved before it');
    return undefined;
  }
  if (before.status === 'closed')
    return outOf('type', 'LogReopened or LogArrived', type, 'a LogMoved has closed the stream already');
  if (before.ended.includes(move))
    return outOf('data.move', 'a new move', move, 'this move has ended in this stream before');
  const kind = streamKind(event.stream);
  if (event.revision === 0 && (kind === 'log' || kind === 'study')) {
    const first = kind === 'log' ? 'LogCreated' : 'StudyRegistered';
    return outOf('type', first, type, 'the stream does not begin with it');
  }
  return undefined;
}

/** The movement after an event that is allowed here. */
export function movementAfter(before: Movement, event: PartialEvent): Movement {
  if (before.status === 'dead' || !isMoveEvent(event)) return before;
  return afterMove(before.ended, event as MoveEvent);
}

function afterMove(ended: readonly string[], { type, data }: MoveEvent): Movement {
  switch (type) {
    case 'LogMoved':
      return { status: 'closed', move: data.move, to: data.to, ended };
    case 'LogReopened':
    case 'LogArrived':
      return { status: 'open', ended: [...ended, data.move] };
    case 'CopyAborted':
      return { status: 'dead', move: data.move };
  }
}

function outOf(field: string, expected: string | undefined, found: string, why: string): OutOfPlace {
  return { field, expected, found, why };
}
