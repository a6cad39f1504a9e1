/** Compares the studies file with the log, for as long as a process runs: the study can be amended meanwhile. */
import type { Design } from '../model/design.ts';
import type { Studies } from '../study/studies.ts';
import { type Comparison, compare } from './differences.ts';
import type { ConfiguredStudy } from './study.ts';

/**
 * Suspends the study in this process while the file differs: it then takes no participants here. An amendment by any process
 * ends this if the file describes the new design.
 * @returns how they compare now; undefined if the study is not registered
 */
export function suspendWhileDiffering(studies: Studies, file: ConfiguredStudy): Comparison | undefined {
  const { name } = file.configuration;
  const stream = studies.streamOf(name);
  let last: { readonly designs: readonly Design[]; readonly comparison: Comparison } | undefined;
  const compareNow = (): Comparison | undefined => {
    const designs = studies.designs(stream);
    const registered = studies.find(name)?.registered;
    if (!registered) return undefined;
    // This is asked for every participant, so it is worked out once for each design.
    if (last?.designs !== designs) last = { designs, comparison: compare(registered, designs, file) };
    return last.comparison;
  };
  studies.suspendWhile(stream, () => compareNow()?.standing === 'differs');
  return compareNow();
}
