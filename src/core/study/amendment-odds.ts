/** What an amendment does to the next draws: each arm's probability before and after, by level. */
import type { DesignChange, History } from '../../../events/study.ts';
import type { Design } from '../model/design.ts';
import type { Model } from '../model/model.ts';
import { amendmentOf, defaultHistory } from './amendments.ts';
import type { Amend } from './commands.ts';
import { type LevelOdds, nextDraw } from './next-draw.ts';
import { afterUnwritten, fork } from './state.ts';

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
  const { design } = state;
  const asked = historyOf(command, design);
  // Other methods draw from more than the counts of a level, or their chances must stay secret.
  if (asked === undefined || design.method.name !== 'urn' || !changesOdds(command, asked)) return undefined;
  const histories = isOpenQuestion(command) ? ([asked, 'keep'] as const) : [asked];
  return {
    before: nextDraw(state),
    after: histories.map((history) => {
      const fact = {
        type: 'StudyAmended',
        data: amendmentOf({ ...command, history }, design),
        sections: {},
      } as const;
      return { history, levels: nextDraw(afterUnwritten(fork(state) as Model, fact, revision)) };
    }),
  };
}

export function historyOf({ history, changes }: Amend, design: Pick<Design, 'method'>): History | undefined {
  return history ?? defaultHistory(changes, design);
}

/** Adding, closing or renaming a level leaves the urns of the others unchanged, unless all begin anew. */
function changesOdds({ changes }: Amend, history: History): boolean {
  const isOfUrns = ({ kind }: DesignChange) =>
    ['arm-closed', 'arm-reopened', 'arm-added'].includes(kind) ||
    kind === 'urn' ||
    kind === 'ratio' ||
    kind === 'factor-retired';
  return history === 'restart' || changes.some(isOfUrns);
}

/** Both histories are possible with a new arm, and the choice matters. */
function isOpenQuestion({ history, changes }: Amend): boolean {
  const has = (wanted: DesignChange['kind']) => changes.some(({ kind }) => kind === wanted);
  return history === undefined && has('arm-added') && !has('ratio');
}
