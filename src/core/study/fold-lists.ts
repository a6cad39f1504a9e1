/** What the events of lists change in the model. */
import type { PartialEventOf } from '../../../events/record.ts';
import type { Model } from '../model/model.ts';

/** The name of the stratum with these levels, in the order of its factors; undefined if the study has no such stratum. */
export function stratumNamed(
  { levelIndexes, methodDesign }: Pick<Model, 'levelIndexes' | 'methodDesign'>,
  levels: readonly string[] = [],
): string | undefined {
  if (methodDesign.method !== 'list' || levels.length !== methodDesign.by.length) return undefined;
  const indexes = methodDesign.by.map((factor, i) => levelIndexes[factor]?.get(levels[i] ?? ''));
  return indexes.includes(undefined) ? undefined : indexes.join();
}

export function addEntries(model: Model, { data, sections }: PartialEventOf<'ListRegistered'>): void {
  const { list } = sections;
  if (!list) {
    model.entries.addWithheld(data.count);
    return;
  }
  const { slots } = model.design;
  model.entries.add(
    list.file,
    list.entries.map(({ levels, treatment }) => [
      stratumNamed(model, levels) ?? '',
      slots.indexOf(treatment),
    ]),
  );
}

export function skipEntries(model: Model, { data }: PartialEventOf<'EntriesSkipped'>): void {
  model.entries.isSkipOwed = false;
  for (const { count, levels } of data.skipped) model.entries.use(stratumNamed(model, levels) ?? '', count);
}
