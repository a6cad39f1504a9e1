import type { Studies } from '../study/studies.ts';
import { configurationDifferences, describeDifferences } from './differences.ts';
import type { ConfiguredStudy } from './studies-file.ts';

/**
 * A study that the file describes otherwise than it was registered takes no participants in this process.
 * @returns the differences, without secrets; undefined for a study that is as registered, or not registered
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
