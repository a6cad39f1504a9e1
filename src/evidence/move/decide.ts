/** The decider of a stream that is moved: it is closed, reopened, has arrived, or can never arrive. */
import type { MoveFact } from '../../../events/move.ts';
import { type Movement, movementAfter } from '../../../projections/movement.ts';
import type { Decider, Decision } from '../../core/write/decider.ts';

export type MoveCommand =
  | {
      readonly type: 'close';
      readonly move: string;
      readonly to: string;
      readonly reason?: string | undefined;
    }
  | { readonly type: 'reopen'; readonly move: string }
  | { readonly type: 'arrive'; readonly move: string; readonly from: string }
  | { readonly type: 'abort'; readonly move: string; readonly reason?: string | undefined };

export interface MoveOutcome {
  /**
   * `done`: now or before. `ended`: this move has ended in the stream, but not as the command wants. `other`: the stream
   * is not in the state in which this move left it.
   */
  readonly type: 'done' | 'ended' | 'other';
}

const DONE: MoveOutcome = { type: 'done' };

function decide(state: Movement, command: MoveCommand): Decision<MoveFact, MoveOutcome> {
  const { move } = command;
  if (state.status === 'dead')
    return { outcome: { type: command.type === 'abort' && state.move === move ? 'done' : 'ended' } };
  if (command.type === 'close') {
    if (state.status === 'closed') return { outcome: state.move === move ? DONE : { type: 'other' } };
    if (state.ended.includes(move)) return { outcome: { type: 'ended' } };
    return { fact: factOf(command), outcome: DONE };
  }
  if (state.status === 'closed' && state.move === move) return { fact: factOf(command), outcome: DONE };
  if (!state.ended.includes(move)) return { outcome: { type: 'other' } };
  return { outcome: command.type === 'abort' ? { type: 'ended' } : DONE };
}

function factOf(command: MoveCommand): MoveFact {
  const { move } = command;
  switch (command.type) {
    case 'close':
      return { type: 'LogMoved', data: { move, to: command.to, ...reasonOf(command) }, sections: {} };
    case 'reopen':
      return { type: 'LogReopened', data: { move }, sections: {} };
    case 'arrive':
      return { type: 'LogArrived', data: { move, from: command.from }, sections: {} };
    case 'abort':
      return { type: 'CopyAborted', data: { move, ...reasonOf(command) }, sections: {} };
  }
}

function reasonOf({ reason }: { readonly reason?: string | undefined }): { reason?: string } {
  return reason === undefined ? {} : { reason };
}

export const moveDecider: Decider<Movement, MoveCommand, MoveFact, MoveOutcome> = {
  decide,
  mayChange: ({ type }) => type === 'other',
  evolve: movementAfter,
  fork: (state) => state,
};
