/**
 * What somebody may have done to choose an arm: a participant was voided, and somebody with the same levels randomized soon
 * before or after; or an amendment was undone after a few randomizations. Both can be in order, so whoever reads the list asks.
 */

import { isDeepStrictEqual } from 'node:util';
import { type Design, ratioOf } from '../model/design.ts';
import type { Deed } from '../model/life.ts';
import type { Model } from '../model/model.ts';
import { currentId, currentLevels, type Participant, WITHHELD } from '../model/participants.ts';

/** How long after a participant, or after the voiding, somebody with the same levels is a second draw. */
const SECOND_DRAW_MS = 24 * 3600 * 1000;
/** After more randomizations, an amendment that is undone was in use. */
const FEW_RANDOMIZED = 5;

/** Second draws of one user, who randomized the first participant of each. */
export interface SecondDraws {
  readonly user: string;
  readonly draws: readonly SecondDraw[];
  /** How often the two arms differed; absent where arms are withheld. */
  readonly differed?: number | undefined;
  /** The arms of those of the two who are not voided; absent likewise. */
  readonly kept?: readonly { readonly treatment: string; readonly count: number }[] | undefined;
}

/** Participants by their ids in use. */
interface SecondDraw {
  readonly participant: string;
  /** Of the voiding, and by whom it was. */
  readonly revision: number;
  readonly voidedBy: string;
  /** With the same levels, and who randomized them. */
  readonly next: string;
  readonly nextBy: string;
}

/** An amendment after which a setting had another value, until another one put it back. */
export interface UndoneAmendment {
  readonly setting: Setting;
  readonly amendment: number;
  readonly by: string;
  readonly undoneWith: number;
  readonly undoneBy: string;
  /** Those who were randomized in between, by their ids in use. */
  readonly randomized: readonly string[];
}

export const STEERING_SETTINGS = ['ratio', 'arms', 'limits', 'urn'] as const;
type Setting = (typeof STEERING_SETTINGS)[number];

/** What decides who gets which arm, in a form in which the same is equal. */
const VALUES: Readonly<Record<Setting, (design: Design) => unknown>> = {
  ratio: ratioOf,
  arms: ({ closedTreatments }) => closedTreatments.toSorted(),
  limits: ({ limits, policies }) => [limits, policies.stopAtLimit],
  urn: ({ method }) => method,
};

/** In a study, so far. */
export function secondDraws({ participants, voidings }: Model): SecondDraws[] {
  const byLevels = voidings.isEmpty() ? new Map() : drawnByLevels(participants.inOrder);
  const byUser = new Map<string, Pair[]>();
  for (const [randomizedAt, voiding] of voidings.entries()) {
    const first = participants.get(voiding.participantId);
    // A wrong entry makes way for another.
    if (first?.revision !== randomizedAt) continue;
    const second = secondOf(first, voiding, byLevels);
    if (!second || (isKept(first) && isKept(second))) continue;
    byUser.set(first.user, [...(byUser.get(first.user) ?? []), { first, second, voiding }]);
  }
  return [...byUser].map(([user, pairs]) => ({ user, draws: pairs.map(drawOf), ...armsOf(pairs) }));
}

/** Likewise. */
export function undoneAmendments({ designs, life, participants }: Model): UndoneAmendment[] {
  const drawn = participants.inOrder.filter(isDrawn);
  return designs.flatMap((design, undoneWith) =>
    STEERING_SETTINGS.flatMap((setting) => {
      const valueIn = VALUES[setting];
      const value = valueIn(design);
      const isSame = (earlier: Design | undefined) => earlier && isDeepStrictEqual(valueIn(earlier), value);
      if (isSame(designs[undoneWith - 1])) return [];
      // The last amendment that changed this value into another one.
      const amendment = designs.slice(0, undoneWith).findLastIndex(isSame) + 1;
      const [begun, ended] = [life.amendments[amendment - 1], life.amendments[undoneWith - 1]];
      if (!begun || !ended) return [];
      const randomized = drawn
        .filter(({ revision }) => revision > begun.revision && revision < ended.revision)
        .map(currentId);
      if (randomized.length > FEW_RANDOMIZED) return [];
      return [{ setting, amendment, by: begun.by, undoneWith, undoneBy: ended.by, randomized }];
    }),
  );
}

interface Pair {
  readonly first: Participant;
  readonly second: Participant;
  readonly voiding: Deed;
}

function isDrawn({ forced, original }: Participant): boolean {
  return !forced && !original;
}

function isKept({ corrected }: Participant): boolean {
  return corrected?.voided === undefined;
}

/** Levels as randomized and as corrected: a correction must not hide that they are, or were, the same. */
function levelKeys(participant: Participant): Set<string> {
  return new Set([participant.levels, currentLevels(participant)].map((levels) => JSON.stringify(levels)));
}

function drawnByLevels(inOrder: readonly Participant[]): Map<string, Participant[]> {
  const byLevels = new Map<string, Participant[]>();
  for (const participant of inOrder.filter(isDrawn))
    for (const key of levelKeys(participant)) {
      const same = byLevels.get(key);
      if (same) same.push(participant);
      else byLevels.set(key, [participant]);
    }
  return byLevels;
}

/** Whoever came soon after the voiding; otherwise whoever had come soon after the participant. */
function secondOf(
  first: Participant,
  voiding: Deed,
  byLevels: ReadonlyMap<string, readonly Participant[]>,
): Participant | undefined {
  const same = [...levelKeys(first)].flatMap((key) => byLevels.get(key) ?? []);
  const soonAfter = ({ revision, at }: Pick<Deed, 'revision' | 'at'>) =>
    same.find((one) => one.revision > revision && Date.parse(one.at) - Date.parse(at) <= SECOND_DRAW_MS);
  return soonAfter(voiding) ?? soonAfter(first);
}

function drawOf({ first, second, voiding }: Pair): SecondDraw {
  return {
    ...{ participant: currentId(first), revision: voiding.revision, voidedBy: voiding.by },
    ...{ next: currentId(second), nextBy: second.user },
  };
}

function armsOf(pairs: readonly Pair[]): Pick<SecondDraws, 'differed' | 'kept'> {
  const all = pairs.flatMap(({ first, second }) => [first, second]);
  if (all.some(({ treatment }) => treatment === WITHHELD)) return {};
  const arms = all.filter(isKept).map(({ treatment }) => treatment);
  return {
    differed: pairs.filter(({ first, second }) => first.treatment !== second.treatment).length,
    kept: [...new Set(arms)].map((treatment) => {
      return { treatment, count: arms.filter((arm) => arm === treatment).length };
    }),
  };
}
