/** Warnings about a list of allocations that was made elsewhere: its order, and how many entries it has. */

import { counted, plural } from '../../base/wording.ts';
import { type Factor, openLevels } from '../../core/model/design.ts';
import type { Model } from '../../core/model/model.ts';
import type { RegisterList } from '../../core/study/commands.ts';
import { stratumNamed } from '../../core/study/lists.ts';
import { alike, inBlocks, listNames } from './order-of-arms.ts';

type Entry = RegisterList['entries'][number];

/** @param entries those that are new, at least one. @param factors whose levels make a stratum, in the order of the design */
export function listWarnings(entries: readonly Entry[], factors: readonly Factor[], state: Model): string[] {
  const strata = new Map<string, Entry[]>();
  for (const entry of entries) {
    const name = stratumText(factors, entry.levels);
    const rows = strata.get(name);
    if (rows) rows.push(entry);
    else strata.set(name, [entry]);
  }
  const lists = [...strata].map(([name, rows]) => ({ name, rows }));
  const [sorted, same] = [inBlocks(lists), alike(lists)];
  const again = lists.filter((list) => alike([list, earlierLike(list, state)]).length > 0);
  const numbers = numbersOf(entries, factors, state);
  return [
    ...(sorted.length > 0
      ? [`${listNames(sorted)} sorted by arm: the order is no random one (hint: ask whoever made it)`]
      : []),
    ...(same.length > 0
      ? [`${listNames(same)} in the same order: who knows one knows the others (hint: ask whoever made it)`]
      : []),
    ...(again.length > 0
      ? [
          `${listNames(again)} in the same order as the entries that are registered already: whoever saw arms knows those that come (hint: this may be the same list, saved as another file)`,
        ]
      : []),
    ...tooFew(numbers, factors, state),
    ...factors.flatMap((factor, place) => {
      const missing = openLevels(factor).filter((level) => numbers.of(place, level) === 0);
      return missing.map((level) => `no entry is for ${factor.name} = ${level}, which is open`);
    }),
  ];
}

/** The entries that the stratum of a list has already. */
function earlierLike({ name, rows }: { name: string; rows: readonly Entry[] }, state: Model) {
  const earlier = state.entries.strata.get(stratumNamed(state, rows[0]?.levels) ?? '')?.entries ?? [];
  return { name, rows: earlier.map(({ slot }) => ({ treatment: state.design.slots[slot] ?? '' })) };
}

/** `local_site = 11, sex = F`, in the order of the factors. */
function stratumText(factors: readonly Pick<Factor, 'name'>[], levels: readonly string[] = []): string {
  return factors.length === 0
    ? 'the whole study'
    : factors.map(({ name }, i) => `${name} = ${levels[i] ?? ''}`).join(', ');
}

/** How many entries there are, with those that the study has already. */
interface Numbers {
  readonly all: number;
  /** @param place of the factor, among those that make a stratum */
  of(place: number, level: string): number;
}

function numbersOf(entries: readonly Entry[], factors: readonly Factor[], state: Model): Numbers {
  const byLevel = factors.map(() => new Map<string, number>());
  let all = 0;
  const count = (stratum: string, number: number) => {
    all += number;
    for (const [place, index] of stratum.split(',').entries())
      byLevel[place]?.set(index, (byLevel[place].get(index) ?? 0) + number);
  };
  for (const [stratum, earlier] of state.entries.strata) count(stratum, earlier.entries.length);
  for (const { levels } of entries) count(stratumNamed(state, levels) ?? '', 1);
  return {
    all,
    of: (place, level) => byLevel[place]?.get(String(factors[place]?.levels.indexOf(level))) ?? 0,
  };
}

/** Strata fill up unevenly: a fifth more is advisable. */
function tooFew(numbers: Numbers, factors: readonly Factor[], state: Model): string[] {
  const { target, limits = {} } = state.design;
  const needed: [whom: string, max: number | undefined, found: number][] = [
    [`a target of ${counted(target ?? 0, 'participant')}`, target, numbers.all],
    ...(limits.levels ?? []).flatMap(({ factor, level, max }): typeof needed => {
      const place = factors.findIndex(({ name }) => name === factor);
      if (place < 0) return [];
      const whom = `a limit of ${max} participants with ${factor} = ${level}`;
      return [[whom, max, numbers.of(place, level)]];
    }),
  ];
  return needed.flatMap(([whom, max = 0, found]) => {
    const advisable = Math.ceil((12 * max) / 10);
    return found < advisable
      ? [
          `${counted(found, 'entry', 'entries')} for ${whom}: ${plural(advisable, 'at least 1 is', `at least ${advisable} are`)} advisable (1.2 times as many)`,
        ]
      : [];
  });
}
