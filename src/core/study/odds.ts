/**
 * What an amendment does to the next draws: each arm's probability before and after, by the level whose urn is drawn from.
 * Only studies with urns have such odds.
 */
import type { DesignChange, History } from '../../../events/study.ts';
import { probabilities } from '../methods/draw.ts';
import { balls, rowSeen } from '../methods/urn.ts';
import { type Design, openTreatments } from '../model/design.ts';
import type { Model } from '../model/model.ts';
import { amendmentOf, defaultHistory } from './amendments.ts';
import type { Amend } from './commands.ts';
import { afterUnwritten, fork } from './fold.ts';

export interface Odds {
  readonly before: readonly LevelOdds[];
  /** The history that was asked for comes first. */
  readonly after: readonly { readonly history: History; readonly levels: readonly LevelOdds[] }[];
}

/** The urn of an open level. */
export interface LevelOdds {
  /** Indexes in the design, which no amendment changes. */
  readonly place: { readonly factor: number; readonly level: number };
  readonly factor: string;
  readonly level: string;
  /** For each open treatment, in order. */
  readonly odds: readonly { readonly treatment: string; readonly probability: number }[];
}

/**
 * The odds before an amendment, and after it under each history that may be meant.
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
    before: nextDrawOdds(state),
    after: histories.map((history) => {
      const fact = {
        type: 'StudyAmended',
        data: amendmentOf({ ...command, history }, design),
        sections: {},
      } as const;
      return { history, levels: nextDrawOdds(afterUnwritten(fork(state) as Model, fact, revision)) };
    }),
  };
}

/** The history that is asked for, otherwise the default. Undefined if no change touches what the method draws from. */
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

type DrawState = Pick<Model, 'design' | 'methodDesign' | 'counts'>;

/**
 * Each arm's probability if the urn of this level is the one that is drawn from: the arm's share of the balls, over all of
 * its slots. Empty if the study has no urns.
 */
function nextDrawOdds({ design, methodDesign, counts }: DrawState): LevelOdds[] {
  if (methodDesign.method !== 'urn') return [];
  const open = openTreatments(design);
  return design.factors.flatMap(({ name, levels, closed, isRetired }, factor) =>
    levels.flatMap((level, place) => {
      if (isRetired || closed.includes(level)) return [];
      const shares = probabilities(balls(methodDesign, rowSeen(methodDesign, counts, factor, place)));
      const odds = open.map((treatment) => ({
        treatment,
        probability: sum(shares.filter((_, slot) => methodDesign.slots[slot] === treatment)),
      }));
      return [{ place: { factor, level: place }, factor: name, level, odds }];
    }),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
