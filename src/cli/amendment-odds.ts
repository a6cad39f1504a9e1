/** What an amendment does to the next draws: each arm's probability before and after, by level. */
import type { DesignChange, History } from '../../events/amendment.ts';
import type { Model } from '../core/model/model.ts';
import { amendmentOf, defaultHistory } from '../core/study/amendments.ts';
import type { Amend } from '../core/study/commands.ts';
import { type LevelOdds, nextDraw } from '../core/study/next-draw.ts';
import { afterUnwritten, fork } from '../core/study/state.ts';
import { table } from './output.ts';

export interface Odds {
  readonly before: readonly LevelOdds[];
  /** The history that was asked for comes first. */
  readonly after: readonly { readonly history: History; readonly levels: readonly LevelOdds[] }[];
}

/**
 * @param revision the one that the amendment would have
 * @returns undefined if no urn that is drawn from changes
 */
export function oddsOf(state: Model, command: Amend, revision: number): Odds | undefined {
  const asked = historyOf(command);
  if (asked === undefined || !changesOdds(command)) return undefined;
  const histories = isOpenQuestion(command) ? ([asked, 'keep'] as const) : [asked];
  return {
    before: nextDraw(state),
    after: histories.map((history) => {
      const fact = {
        type: 'StudyAmended',
        data: amendmentOf({ ...command, history }),
        sections: {},
      } as const;
      return { history, levels: nextDraw(afterUnwritten(fork(state) as Model, fact, revision)) };
    }),
  };
}

export function historyOf({ history, changes }: Amend): History | undefined {
  return history ?? defaultHistory(changes);
}

/** Adding, closing or renaming a level leaves the urns of the others unchanged, unless all begin anew. */
function changesOdds(command: Amend): boolean {
  const isOfUrns = ({ kind }: DesignChange) =>
    ['arm-closed', 'arm-reopened', 'arm-added'].includes(kind) ||
    kind === 'urn' ||
    kind === 'ratio' ||
    kind === 'factor-retired';
  return historyOf(command) === 'restart' || command.changes.some(isOfUrns);
}

/** Both histories are possible with a new arm, and the choice matters. */
function isOpenQuestion({ history, changes }: Amend): boolean {
  const has = (wanted: DesignChange['kind']) => changes.some(({ kind }) => kind === wanted);
  return history === undefined && has('arm-added') && !has('ratio');
}

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
