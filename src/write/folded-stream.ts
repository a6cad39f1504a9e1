import type { Projection } from '../../projections/projection.ts';
import type { Runner } from '../../projections/runner.ts';
import { movedError } from '../log/moved.ts';
import type { FoldedStream } from './writer.ts';

/** The stream that a writer decides against, as the runner folds it. */
export function foldedStream<State>(
  runner: Runner,
  projection: Projection<State>,
  stream: string,
): FoldedStream<State> {
  return foldedAs(runner, stream, {
    state: () => runner.state(projection, stream),
    closed: () => movedError(runner.movement(stream)),
  });
}

/** As `foldedStream`, for a writer that decides against something else, or to whom a closed stream is open. */
export function foldedAs<State>(
  runner: Runner,
  stream: string,
  { state, closed }: { state(): State; closed(): Error | undefined },
): FoldedStream<State> {
  return {
    get state() {
      return state();
    },
    get revision() {
      return runner.revision(stream);
    },
    get lastAt() {
      return runner.lastAt(stream);
    },
    get halted() {
      return runner.halted(stream);
    },
    get closed() {
      return closed();
    },
    catchUp: () => runner.catchUp(stream),
    accept: (events, records) => runner.accept(events, records),
    listen: (listener) => runner.listen(stream, listener),
  };
}
