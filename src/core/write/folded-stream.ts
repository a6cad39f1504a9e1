import type { Projection, Runner } from '../../../projections/runner.ts';
import type { DomainError } from '../../base/errors.ts';
import type { Tools } from '../../base/tools.ts';
import type { EventStore } from '../../store/event-store.ts';
import type { FoldedStream, WriterHooks } from './writer-parts.ts';

/** `recover` declares a loss, which must be allowed in a log that lacks records. */
export type Permission = 'write' | 'sign' | 'recover';

/** Decides whether this process may write to a stream or sign a checkpoint of it. */
export interface Gate {
  /** Why it may not; undefined if it may. */
  refusal(stream: string, permission: Permission): DomainError | undefined;
}

/** What all writers of a log share. */
export interface LogParts {
  readonly store: EventStore;
  readonly logId: string;
  readonly runner: Runner;
  readonly gate: Gate;
  readonly tools: Tools;
  readonly hooks?: WriterHooks;
}

/**
 * The folded stream that a writer decides against.
 * @param permission what the writer asks the gate for
 */
export function foldedStream<State>(
  { runner, gate }: Pick<LogParts, 'runner' | 'gate'>,
  projection: Projection<State>,
  stream: string,
  permission: Permission = 'write',
): FoldedStream<State> {
  return {
    get state() {
      return runner.state(projection, stream);
    },
    get revision() {
      return runner.revision(stream);
    },
    get lastAt() {
      return runner.lastAt(stream);
    },
    get refusal() {
      return gate.refusal(stream, permission);
    },
    catchUp: () => runner.catchUp(stream),
    accept: (events, records) => runner.accept(events, records),
    listen: (listener) => runner.listen(stream, listener),
  };
}
