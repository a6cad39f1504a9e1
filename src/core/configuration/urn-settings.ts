/** The settings of the urn. A studies file may give them once, at its top level, for all its studies. */
import { MAX_WEIGHT } from '../../../events/amendment.ts';
import { ImbalanceMeasure } from '../../../events/study.ts';
import type { Refuse } from './finding.ts';
import { readChoice, readCount, refuseMissing } from './values.ts';
import type { Entry } from './yaml-tree.ts';

/** A value and the line where it was written. A built-in default has no line. */
export type Setting<T> = { readonly value: T; readonly line?: number };

/** The settings of the urn. */
export type UrnSettings = {
  readonly D: Setting<ImbalanceMeasure>;
  readonly urn_selection: Setting<'method1'>;
  readonly w: Setting<number>;
  readonly alpha: Setting<number>;
  readonly beta: Setting<number>;
};

export const URN_KEYS = ['D', 'urn_selection', 'w', 'alpha', 'beta'] as const;

export const BUILT_IN: UrnSettings = {
  D: { value: 'chisquare' },
  urn_selection: { value: 'method1' },
  w: { value: 1 },
  alpha: { value: 0 },
  beta: { value: 1 },
};

const W_HINT = 'write at least 1: with w 0 the second allocation of a two-arm urn is certain (ICH E9 2.3.2)';

/** Reads the urn's settings from `entries`. They override `defaults`. Other entries are left to the caller. */
export function readUrnSettings(
  entries: readonly Entry[],
  defaults: UrnSettings,
  refuse: Refuse,
): UrnSettings {
  const urn = { ...defaults };
  const weight = (entry: Entry, min: number, otherwise: Setting<number>) =>
    over(
      entry,
      readCount(entry, { min, max: MAX_WEIGHT, ...(min > 0 && { hint: W_HINT }) }, refuse),
      otherwise,
    );
  for (const entry of entries) {
    if (!isUrnKey(entry.key) || refuseMissing(entry, refuse)) continue;
    if (entry.key === 'D') urn.D = over(entry, readChoice(entry, ImbalanceMeasure.options, refuse), urn.D);
    else if (entry.key === 'w') urn.w = weight(entry, 1, urn.w);
    else if (entry.key === 'alpha') urn.alpha = weight(entry, 0, urn.alpha);
    else if (entry.key === 'beta') urn.beta = weight(entry, 0, urn.beta);
    else urn.urn_selection = over(entry, readChoice(entry, ['method1'], refuse), urn.urn_selection);
  }
  return urn;
}

const isUrnKey = (key: string): key is (typeof URN_KEYS)[number] => URN_KEYS.some((known) => known === key);

const over = <T>(entry: Entry, value: T | undefined, otherwise: Setting<T>): Setting<T> =>
  value === undefined ? otherwise : { value, line: entry.line };
