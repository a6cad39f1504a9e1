/**
 * Settings that only studies registered by an earlier, less strict version may have. They are refused for studies that
 * are new to the log, where it does no harm to choose something else.
 */

import { quote } from '../base/text.ts';
import { linearPatternProblem } from '../study/linear-pattern.ts';
import { type Refuse, StudiesFileError } from './finding.ts';
import { problemsOfNewNames, shortened } from './new-names.ts';
import type { ConfiguredStudy } from './studies-file.ts';
import type { ReadStudy } from './study.ts';

export function noteIfNew({ configuration, line, lines }: ReadStudy, note: Refuse): void {
  const { name, idPattern } = configuration;
  const study = `study ${quote(shortened(name))}`;
  for (const { reason, hint } of problemsOfNewNames(configuration)) note(line, `${study}: ${reason}`, hint);
  const problem = idPattern === undefined ? undefined : linearPatternProblem(idPattern);
  if (!problem) return;
  const reason = `${study}: id_pattern ${problem.reason}, which a new study cannot have`;
  note(lines.get('id_pattern') ?? line, reason, problem.hint);
}

/**
 * @param isNew whether the log has no study with this name
 * @throws StudiesFileError naming everything in the file that new studies cannot have
 */
export function refuseNewStudies(
  configured: readonly ConfiguredStudy[],
  isNew: (name: string) => boolean,
): void {
  const findings = configured
    .filter(({ configuration }) => isNew(configuration.name))
    .flatMap(({ refusedIfNew }) => refusedIfNew);
  if (findings.length > 0) throw new StudiesFileError(findings);
}
