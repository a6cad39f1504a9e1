/** The odds before and after an amendment, for people and programs. */
import type { LevelOdds, Odds } from '../core/study/odds.ts';
import { table } from './output.ts';

/** A row for each level that is open before or afterwards. */
export function oddsTable({ before, after }: Odds): string {
  const columns = [
    { title: 'before', levels: before },
    ...after.map(({ history, levels }) => ({ title: after.length > 1 ? history : 'after', levels })),
  ];
  // Under its new name. Levels are matched by position, which does not change.
  const named = new Map(
    [before, ...after.map(({ levels }) => levels)].flat().map((one) => [placeOf(one), one]),
  );
  const rows = [...named.values()].toSorted(
    (a, b) => a.place.factor - b.place.factor || a.place.level - b.place.level,
  );
  return table([
    ['', ...columns.flatMap(({ title, levels }) => treatmentsIn(levels).map((name) => `${name} ${title}`))],
    ...rows.map((row) => [
      `${row.factor} = ${row.level}`,
      ...columns.flatMap(({ levels }) => {
        const found = levels.find((one) => placeOf(one) === placeOf(row));
        return found
          ? found.odds.map(({ probability }) => probability.toFixed(4))
          : treatmentsIn(levels).map(() => '–');
      }),
    ]),
  ]);
}

export function oddsJson({ before, after }: Odds) {
  const shown = (levels: readonly LevelOdds[]) => levels.map(({ place: _, ...level }) => level);
  return {
    before: shown(before),
    after: after.map(({ history, levels }) => ({ history, levels: shown(levels) })),
  };
}

function treatmentsIn([first]: readonly LevelOdds[]): readonly string[] {
  return first?.odds.map(({ treatment }) => treatment) ?? [];
}

function placeOf({ place }: LevelOdds): string {
  return `${place.factor} ${place.level}`;
}
