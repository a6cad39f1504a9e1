/** Warns that a list is nearly used up, so that a further one can be registered in time, and that it waits for a skip. */
import { studyState } from '../core/study/fold.ts';
import type { Logger } from './monitoring/logger.ts';
import type { OpenLog } from './open/open-log.ts';

/** How often the service looks, in ms. A study may be registered by another process, so there is nothing to listen to. */
const LOOK_MS = 1000;

/**
 * Warns once for each stratum with a tenth or less left, and for each skip that is owed, of any study that is not closed.
 * The name of the stratum would tell how the list goes on, so it is not said.
 * @returns to be cleared when the service stops
 */
export function watchLists(
  { studies, runner }: Pick<OpenLog, 'studies' | 'runner'>,
  logger: Logger,
): NodeJS.Timeout {
  const lowBefore = new Map<string, ReadonlySet<string>>();
  const waiting = new Set<string>();
  const look = () => {
    for (const { stream, design } of studies.list()) {
      const state = runner.state(studyState, stream);
      if (state.status === 'unregistered' || state.status === 'closed') continue;
      const low = [...state.entries.strata].flatMap(([stratum, { entries, used }]) =>
        entries.length - used <= entries.length / 10 ? [stratum] : [],
      );
      if (low.some((stratum) => !lowBefore.get(stream)?.has(stratum)))
        logger.warn(
          { study: design.name },
          'a stratum of the list has a tenth of its entries left, or fewer (hint: urn lists status shows which one; register a further list with urn lists add)',
        );
      lowBefore.set(stream, new Set(low));
      const isWaiting = state.methodDesign.method === 'list' && state.entries.isSkipOwed;
      if (isWaiting && !waiting.has(stream))
        logger.warn(
          { study: design.name },
          'nobody is randomized until it is said which entries of the list were used by participants whom the log does not have (hint: urn lists skip)',
        );
      if (isWaiting) waiting.add(stream);
      else waiting.delete(stream);
    }
  };
  look();
  return setInterval(look, LOOK_MS).unref();
}
