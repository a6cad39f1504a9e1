import type { Projection } from '../../projections/projection.ts';
import type { Runner } from '../../projections/runner.ts';
import type { Act, WriteGate } from '../log/write-gate.ts';
import type { EventStore } from '../store/event-store.ts';
import type { FoldedStream, WriterHooks, WriterTools } from './writer-parts.ts';

/** What all writers of a log share. */
export interface LogParts {
  readonly store: EventStore;
  readonly logId: string;
  readonly runner: Runner;
  readonly gate: Pick<WriteGate, 'refusal'>;
  readonly tools: WriterTools;
  readonly hooks?: WriterHooks;
}

/**
 * The folded stream that a writer decides against.
 * @param act what the writer asks the gate's permission for
 */
export function foldedStream<State>(
  { runner, gate }: Pick<LogParts, 'runner' | 'gate'>,
  projection: Projection<State>,
  stream: string,
  act: Act = 'write',
): FoldedStream<State> {
  return foldedStreamWith(runner, stream, {
    state: () => runner.state(projection, stream),
    refusal: () => gate.refusal(stream, act),
  });
}

/** Like `foldedStream`, for a writer that decides against another state, or may write where others may not. */
export function foldedStreamWith<State>(
  runner: Runner,
  stream: string,
  { state, refusal }: { state(): State; refusal(): Error | undefined },
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
    get refusal() {
      return refusal();
    },
    catchUp: () => runner.catchUp(stream),
    accept: (events, records) => runner.accept(events, records),
    listen: (listener) => runner.listen(stream, listener),
  };
}
