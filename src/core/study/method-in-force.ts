/** What everybody may know of a study's method, as `GET /study_config`, `GET /study_design` and the command line show it. */
import { z } from 'zod';
import { ALGORITHMS, ImbalanceMeasure, type MethodParameters } from '../../../events/study.ts';
import type { Design } from '../model/design.ts';

/** Of a study with urns. */
export const URN_IN_FORCE = {
  D: ImbalanceMeasure.optional().meta({
    description:
      'The imbalance measure of the urns. It and `w`, `alpha`, `beta` are absent with another method',
  }),
  w: z.int().optional().meta({ description: 'Balls per treatment at the start' }),
  alpha: z.int().optional().meta({ description: 'Balls added for the assigned treatment' }),
  beta: z.int().optional().meta({ description: 'Balls added for every other treatment' }),
};

/** Of a study with another method. */
export const METHOD_IN_FORCE = {
  method: z.enum(Object.keys(ALGORITHMS)).optional().meta({
    description: 'The method of allocation; absent: the urn',
  }),
  by: z.array(z.string()).optional().meta({
    description: 'The factors whose levels make a stratum; absent with a method without strata',
  }),
};

export function methodInForce({ method }: Pick<Design, 'method'>) {
  if (method.name !== 'urn') return { method: method.name, ...('by' in method && { by: method.by }) };
  const { D, w, alpha, beta } = method;
  return { D, w, alpha, beta };
}

/** What nobody at a site may know, under its names in the studies file. */
export const MethodParametersResult = z.strictObject({
  sizes: z.array(z.int()).optional(),
  p: z.number().optional(),
  measure: z.enum(['range', 'variance']).optional(),
  weights: z.map(z.string(), z.int()).optional(),
});

/** Sizes are those of the arms that are open. Undefined for a method without parameters. */
export function methodParameters(
  { slots, closedTreatments, factors }: Design,
  { blocks, minimization }: MethodParameters,
): z.infer<typeof MethodParametersResult> | undefined {
  if (blocks) {
    const open = slots.filter((slot) => !closedTreatments.includes(slot));
    return { sizes: blocks.perSlot.map((places) => places * open.length) };
  }
  if (!minimization) return undefined;
  const { measure, pThousandths, weights } = minimization;
  return {
    ...{ p: pThousandths / 1000, measure },
    ...(weights && { weights: new Map(factors.map(({ name }, i) => [name, weights[i] ?? 1])) }),
  };
}
