/** urn studies show --sealed: what nobody at a site may know, for the statistician's sealed file. */
import { methodText } from '../../projections/describe-design.ts';
import { describeRecovery } from '../../projections/study-config.ts';
import { toJson } from '../base/json.ts';
import { methodParameters } from '../core/study/method-in-force.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { recordDisclosure } from './disclosed.ts';
import { note, result, table } from './output.ts';

export async function showSealed(log: OpenLog, study: Study, isJson: boolean): Promise<void> {
  const { design, registered } = study;
  const { parameters, seed, seedSource, recoveries, studyId } = registered;
  await recordDisclosure(log, { what: 'seed', study: design.name });
  const of = methodParameters(design, parameters);
  if (isJson) {
    const method =
      'by' in design.method
        ? { method: design.method.name, by: design.method.by }
        : { method: design.method.name };
    const shown = {
      study: design.name,
      study_id: studyId,
      ...method,
      method_parameters: of,
      starting_seed: BigInt(seed),
      seed_source: seedSource,
    };
    result(toJson(shown));
    return;
  }
  result(
    table([
      ['study', design.name],
      ['study id', studyId],
      ['method', methodText(design.method)],
      ...Object.entries(of ?? {}).map(([name, value]) => [name, valueText(value)]),
      ['starting seed', `${seed} (${seedSource})`],
      ...recoveries.map((one) => ['recovered', describeRecovery(one)]),
    ]),
  );
  note('whoever knows this can work out every allocation in advance: keep it where no site can read it');
}

function valueText(
  value: number | string | undefined | readonly number[] | ReadonlyMap<string, number>,
): string {
  if (value instanceof Map) return [...value].map(([factor, weight]) => `${factor} ${weight}`).join(', ');
  return Array.isArray(value) ? value.join(', ') : String(value);
}
