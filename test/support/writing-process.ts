/** A process that uses a store: it folds the studies, and writes to one of them. */
import type { Fact } from '../../events/catalogue.ts';
import type { LogEvent } from '../../events/record.ts';
import { Runner, type RunnerHooks } from '../../projections/runner.ts';
import { studyDecider } from '../../src/core/study/decide.ts';
import { participants, studyState } from '../../src/core/study/fold.ts';
import type { WriterHooks, WriterLimits } from '../../src/core/write/writer.ts';
import { foldedStream, Writer } from '../../src/core/write/writer.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { asCommand, type Written } from './acts.ts';
import { NURSE, STREAM } from './facts.ts';
import { fixedTools, LOG_ID } from './fixed-tools.ts';
import { openGate } from './open-gate.ts';

export type WritingProcess = ReturnType<typeof writingProcess>;

interface Options {
  /** Distinguishes the ids and salts of several processes. */
  readonly series?: number;
  /** The first reading of the clock. */
  readonly start?: string;
  readonly limits?: Partial<WriterLimits>;
  readonly hooks?: WriterHooks;
  readonly runnerHooks?: RunnerHooks;
}

/** A turn has no end, unless the limits say so: what stands in one batch must not depend on the machine's speed. */
export function writingProcess(
  store: EventStore,
  { series = 0, start, limits = {}, hooks = {}, runnerHooks = {} }: Options = {},
) {
  const runner = new Runner(store, LOG_ID, [participants, studyState], runnerHooks);
  const writer = new Writer({
    store,
    logId: LOG_ID,
    stream: STREAM,
    decider: studyDecider,
    folded: foldedStream({ runner, gate: openGate(runner) }, studyState, STREAM),
    tools: fixedTools(series, start),
    limits: { turnMs: Number.POSITIVE_INFINITY, ...limits },
    hooks,
  });
  return {
    runner,
    writer,
    /** The outcome's type, or the error's code. */
    submit: (command: Written, actor = NURSE): Promise<string> =>
      writer.submit(asCommand(command), actor).then(
        ({ outcome }) => outcome.type,
        (error) => error.code ?? error.name,
      ),
    get participants() {
      return runner.state(participants, STREAM);
    },
  };
}

/** The current state of the stream, folded from scratch. */
export async function eventsIn(store: EventStore): Promise<LogEvent[]> {
  const runner = new Runner(store, LOG_ID, [studyState]);
  const events: LogEvent[] = [];
  runner.listen(STREAM, (event) => events.push(event));
  await runner.rebuild();
  const halted = runner.halted(STREAM);
  if (halted) throw halted;
  return events;
}

/** An event's fact alone: no id, time, actor or salt. */
export function factOf({ type, data, sections }: LogEvent): Fact {
  const withoutSalts = Object.entries(sections).map(([name, section]) => {
    const { salt: _, ...said } = section as { salt?: string };
    return [name, said];
  });
  return { type, data, sections: Object.fromEntries(withoutSalts) } as Fact;
}
