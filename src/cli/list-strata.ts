/** The strata of a study's lists, as the command line names them. No arms. */
import type { Level } from '../../events/study.ts';
import type { Factor } from '../core/model/design.ts';
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

/** Of more strata than this, only those are shown that have entries. */
const MAX_SHOWN = 1000;

/** Those that have entries, and those of open levels that have none, in the order of the levels. */
export function strataOf({ design, entries, methodDesign }: Model): ListStratum[] {
  const { by } = methodDesign.method === 'list' ? methodDesign : { by: [] };
  const names = new Set([...entries.strata.keys(), ...openStrata(by.map((at) => design.factors[at]))]);
  const strata = [...names].map((name) => {
    const { entries: listed, used } = entries.strata.get(name) ?? { entries: [], used: 0 };
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

/** The names of all combinations of open levels. */
function openStrata(factors: readonly (Factor | undefined)[]): string[] {
  const open = factors.map((factor) =>
    (factor?.levels ?? []).flatMap((level, index) => (factor?.closed.includes(level) ? [] : [index])),
  );
  if (open.reduce((product, { length }) => product * length, 1) > MAX_SHOWN) return [];
  return open
    .reduce<number[][]>((all, indexes) => all.flatMap((one) => indexes.map((index) => [...one, index])), [[]])
    .map((indexes) => indexes.join());
}
