/** urn studies show --sealed: what nobody at a site may know, for the statistician's sealed file. */

import { toJson } from '../base/json.ts';
import { methodText } from '../core/model/design.ts';
import type { Model } from '../core/model/model.ts';
import { describeRecovery } from '../core/model/model.ts';
import { methodParameters } from '../core/study/public-design.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { recordDisclosure } from './disclosed.ts';
import { strataOf } from './list-strata.ts';
import { note, result, table } from './output.ts';
import { registeredState } from './studies-log.ts';

export async function showSealed(log: OpenLog, study: Study, isJson: boolean): Promise<void> {
  const { design, registered } = study;
  const { parameters, seed, seedSource, recoveries, studyId } = registered;
  await recordDisclosure(log, { what: 'seed', study: design.name });
  const of = methodParameters(design, parameters);
  const listed = entriesOf(registeredState(log, study));
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
      ...(listed.length > 0 && { entries: listed.map(({ text: _, ...entry }) => entry) }),
      starting_seed: BigInt(seed),
      seed_source: seedSource,
    };
    result(toJson(shown));
    return;
  }
  const isUsed = design.method.name !== 'list';
  result(
    table([
      ['study', design.name],
      ['study id', studyId],
      ['method', methodText(design.method)],
      ...Object.entries(of ?? {}).map(([name, value]) => [name, valueText(value)]),
      ['starting seed', `${seed} (${seedSource}${isUsed ? '' : ', and not used'})`],
      ...recoveries.map((one) => ['recovered', describeRecovery(one)]),
    ]),
  );
  if (listed.length > 0)
    result(
      `\n${table([
        ['list', 'entry', 'stratum', 'treatment', ''],
        ...listed.map(({ list, entry, text, treatment, used }) => [
          ...[String(list), String(entry), text, treatment],
          used ? 'used' : '',
        ]),
      ])}`,
    );
  note('whoever knows this can work out every allocation in advance: keep it where no site can read it');
}

/** The entries that are not void, as they stand on their lists. */
function entriesOf(state: Model) {
  const { slots } = state.design;
  return strataOf(state)
    .flatMap(({ name, levels, text, used }) =>
      (state.entries.strata.get(name)?.entries ?? []).map(({ list, entry, slot }, i) => {
        return { list, entry, levels, text, treatment: slots[slot] ?? '', used: i < used };
      }),
    )
    .sort((a, b) => a.list - b.list || a.entry - b.entry);
}

function valueText(
  value: number | string | undefined | readonly number[] | ReadonlyMap<string, number>,
): string {
  if (value instanceof Map) return [...value].map(([factor, weight]) => `${factor} ${weight}`).join(', ');
  return Array.isArray(value) ? value.join(', ') : String(value);
}
