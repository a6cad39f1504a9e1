/** The strata of a study's lists, as the command line names them. No arms. */
import type { Level } from '../../events/study.ts';
import type { Model } from '../core/model/model.ts';

export interface ListStratum {
  /** As the lists name it: by indexes. */
  readonly name: string;
  /** In the order of the factors that make it; none: the whole study is one. */
  readonly levels: readonly Level[];
  /** `local_site=11`, `sex=F,local_site=11`, or `the whole study`. */
  readonly text: string;
  readonly used: number;
  readonly left: number;
}

/** Those that have entries, in the order of the levels. */
export function strataOf({ design, entries, methodDesign }: Model): ListStratum[] {
  const { by } = methodDesign.method === 'list' ? methodDesign : { by: [] };
  const strata = [...entries.strata].map(([name, { entries: listed, used }]) => {
    const indexes = by.length === 0 ? [] : name.split(',').map(Number);
    const levels = by.map((at, i) => {
      const factor = design.factors[at];
      return { factor: factor?.name ?? '', level: factor?.levels[indexes[i] ?? -1] ?? '' };
    });
    const text = levels.map(({ factor, level }) => `${factor}=${level}`).join(',') || 'the whole study';
    return { name, indexes, levels, text, used, left: listed.length - used };
  });
  return strata
    .sort(
      (a, b) =>
        a.indexes.map((index, i) => index - (b.indexes[i] ?? 0)).find((difference) => difference !== 0) ?? 0,
    )
    .map(({ indexes: _, ...stratum }) => stratum);
}
