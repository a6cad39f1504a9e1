import type { Studies } from '../study/studies.ts';
import { configurationDifferences, describeDifferences } from './differences.ts';
import type { ConfiguredStudy } from './studies-file.ts';

/**
 * Suspends a study in this process if the file differs from its registration: it then takes no participants here.
 * @returns the differences, without secrets; undefined if there are none or the study is not registered
 */
export function suspendIfDiffering(
  studies: Studies,
  { configuration, seed }: ConfiguredStudy,
): readonly string[] | undefined {
  const study = studies.find(configuration.name);
  const differences = study ? configurationDifferences(study.registered, { configuration, seed }) : [];
  if (!study || differences.length === 0) return undefined;
  studies.suspend(study.stream);
  return describeDifferences(differences, { secrets: 'withhold' });
}
