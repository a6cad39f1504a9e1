import { describe, expect, it } from 'vitest';
import { type Design, registeredDesign } from '../../../projections/design.ts';
import { goalOf } from '../../../src/core/model/limits.ts';
import { CONFIGURATION } from '../../support/facts.ts';

const [COOK = '', DUPAGE = '', KANE = ''] = CONFIGURATION.factors[1]?.levels ?? [];
const SITE = CONFIGURATION.factors[1]?.name ?? '';
const SEX = CONFIGURATION.factors[0]?.name ?? '';
const LIMITS = {
  total: 30,
  levels: [
    { factor: SITE, level: COOK, max: 20 },
    { factor: SITE, level: DUPAGE, max: 15 },
    { factor: SEX, level: 'Male', max: 12 },
  ],
};
const design = (more: Partial<Design> = {}): Design => ({ ...registeredDesign(CONFIGURATION), ...more });
const at = (...levels: string[]) => [{ factor: SITE, levels }];

describe('goalOf', () => {
  it('is the target of the study, or else its limit', () => {
    expect(goalOf(design({ target: 25, limits: LIMITS }), undefined)).toEqual({ kind: 'target', places: 25 });
    expect(goalOf(design({ target: undefined, limits: LIMITS }), undefined)).toEqual({
      kind: 'limit',
      places: 30,
    });
    expect(goalOf(design({ target: undefined, limits: undefined }), undefined)).toBeUndefined();
  });

  it('is never that of the whole study for a key that is limited to some of its levels', () => {
    const all = design({ target: 25, limits: LIMITS });
    expect(goalOf(all, at(COOK))).toEqual({ kind: 'limit', places: 20 });
    expect(goalOf(all, at(COOK, DUPAGE))).toEqual({ kind: 'limit', places: 35 });
    expect(goalOf(all, at(COOK, COOK))).toEqual({ kind: 'limit', places: 20 });
    // One of the levels has no limit, or nobody has said how many men there may be at a site.
    expect(goalOf(all, at(COOK, KANE))).toBeUndefined();
    expect(goalOf(all, at(KANE))).toBeUndefined();
    expect(goalOf(all, [...at(COOK), { factor: SEX, levels: ['Male'] }])).toBeUndefined();
    expect(goalOf(design({ target: 25, limits: { total: 30 } }), at(COOK))).toBeUndefined();
  });

  it('knows the levels of a key by the names that they had when it was issued', () => {
    const factors = design().factors.map((factor) =>
      factor.name === SITE
        ? {
            ...factor,
            levels: ['Cook', ...factor.levels.slice(1)],
            earlierNames: [{ name: COOK, now: 'Cook', isAlias: false }],
          }
        : factor,
    );
    const limits = { levels: [{ factor: SITE, level: 'Cook', max: 20 }] };
    expect(goalOf(design({ factors, limits }), at(COOK))).toEqual({ kind: 'limit', places: 20 });
  });
});
