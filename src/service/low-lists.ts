/** Warns that a list is nearly used up, so that a further one can be registered in time. */
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import { studyState } from '../core/study/state.ts';
import type { Logger } from './monitoring/logger.ts';
import type { OpenLog } from './open/open-log.ts';

/** Warns once for each stratum with a tenth or less left. Its name would tell how the list goes on, so it is not said. */
export function warnOfLowLists(
  { studies, runner }: Pick<OpenLog, 'studies' | 'runner'>,
  configured: readonly ConfiguredStudy[],
  logger: Logger,
): void {
  for (const { configuration } of configured) {
    if (!('method' in configuration) || configuration.method.name !== 'list') continue;
    const study = configuration.name;
    const stream = studies.streamOf(study);
    const low = new Set<string>();
    const look = () => {
      const state = runner.state(studyState, stream);
      if (state.status === 'unregistered') return;
      for (const [stratum, { entries, used }] of state.entries.strata) {
        const isLow = entries.length - used <= entries.length / 10;
        if (isLow && !low.has(stratum))
          logger.warn(
            { study },
            'a stratum of the list has a tenth of its entries left, or fewer (hint: urn lists status shows which one; register a further list with urn lists add)',
          );
        if (isLow) low.add(stratum);
        else low.delete(stratum);
      }
    };
    look();
    runner.listen(stream, look);
  }
}
