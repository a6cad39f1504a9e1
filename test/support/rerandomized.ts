/** Studies whose steps are draws alone. */
import type { MinimizationParameters, StudyConfiguration, UrnConfiguration } from '../../events/study.ts';
import { registeredDesign } from '../../src/core/model/design.ts';
import { methodDesignOf } from '../../src/core/model/method-of.ts';
import { designStep, type Step } from '../../src/statistics/replicate/steps.ts';
import type { Plan } from '../../src/statistics/rerandomize/plan.ts';

export function configuration(more: Partial<UrnConfiguration> = {}): UrnConfiguration {
  return {
    ...{ name: 'golden', mode: 'test', D: 'chisquare', urnSelection: 'method1', w: 1, alpha: 0, beta: 1 },
    ...{ treatments: ['A', 'B'], factors: [{ name: 'all', levels: ['x'] }] },
    ...more,
  };
}

/** @param levels of each participant, the names in the order of the factors. @param arms as recorded */
export function drawn(
  study: StudyConfiguration,
  levels: readonly (readonly string[])[],
  arms: readonly number[],
  { perSlot = [], minimization }: { perSlot?: readonly number[]; minimization?: MinimizationParameters } = {},
): Step[] {
  const design = registeredDesign(study);
  const { factors } = design;
  return [
    designStep(
      {
        design,
        methodDesign: methodDesignOf(design, {
          blocks: { perSlot: [...new Set(perSlot)] },
          ...(minimization && { minimization }),
        }),
      },
      false,
    ),
    ...levels.map(
      (names, person): Step => ({
        ...{ kind: 'draw', person, slot: arms[person] ?? -1, isImported: false },
        ...(perSlot.length > 0 && { perSlot: perSlot[person] }),
        levels: names.map((name, factor) => factors[factor]?.levels.indexOf(name) ?? -1),
      }),
    ),
  ];
}

type About = Partial<Plan & Pick<Plan['statistic'], 'name' | 'alternative'>>;

export function planOf(
  steps: readonly Step[],
  arms: readonly number[],
  scores: readonly number[],
  { name = 'mean', alternative = 'two-sided', ...more }: About = {},
): Plan {
  return {
    ...{ steps, compared: [0, 1], hasOthers: false, recorded: Int8Array.from(arms) },
    analysed: Int32Array.from(arms.keys()),
    statistic: { name, alternative, scores: Float64Array.from(scores) },
    ...more,
  };
}

export const G1 = {
  study: configuration(),
  levels: Array.from({ length: 10 }, () => ['x']),
  arms: [1, 0, 0, 1, 0, 0, 0, 1, 0, 1],
  outcomes: [3, 5, 1, 8, 2, 9, 4, 7, 6, 10],
};

export const G2 = {
  study: configuration({
    factors: [
      { name: 'sex', levels: ['F', 'M'] },
      { name: 'site', levels: ['1', '2', '3'] },
    ],
  }),
  levels: 'F1 M1 F2 M3 F3 F1 M2 M2 F2 M1 F3 M3'.split(' ').map((pair) => [...pair]),
  arms: [0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1],
  outcomes: [12, 7, 15, 9, 11, 14, 6, 8, 13, 5, 16, 10],
};

const { D: _, urnSelection: __, w: ___, alpha: ____, beta: _____, ...commonOfG2 } = G2.study;

/** Blocks of 4 and 6 by site: a block of 4 at site 1, of 6 at the others. */
export const G3 = {
  ...G2,
  study: { ...commonOfG2, method: { name: 'blocks', by: ['site'] } } satisfies StudyConfiguration,
  arms: [1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0],
  perSlot: G2.levels.map(([, site]) => (site === '1' ? 2 : 3)),
};

export const G4 = {
  ...G2,
  study: { ...commonOfG2, method: { name: 'minimization' } } satisfies StudyConfiguration,
  arms: [1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0],
  minimization: { measure: 'range', pThousandths: 800 } as const,
};
