/** What a reader sees after events: a projection folded from the first one, or what a view selects from it. */
import type { LogEvent } from '../../events/record.ts';
import { projectionOf, type Readable, shownIn } from '../../projections/runner.ts';

export function folded<Shown>(readable: Readable<Shown>, events: readonly LogEvent[]): Shown {
  const projection = projectionOf(readable);
  return shownIn(
    readable,
    events.reduce((state, event) => projection.apply(state, event), projection.initial()),
  );
}
