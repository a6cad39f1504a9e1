/**
 * Design and method of a study as everybody may know them, with the defaults written out: what `GET /study_config`,
 * `GET /study_design` and `urn studies show --json` show. The parameters of the method, which nobody at a site may know, are
 * apart, at the end.
 */
import { z } from 'zod';
import { Protocol } from '../../../events/define.ts';
import { ALGORITHMS, ImbalanceMeasure, type MethodParameters } from '../../../events/study.ts';
import { type Design, type Factor, hasRatio, ratioOf } from '../model/design.ts';
import { currentLevels, fillsPlace, type Participant } from '../model/participants.ts';

/** What is shown of the method of a study with urns. */
export const URN_IN_FORCE = {
  D: ImbalanceMeasure.optional().meta({
    description:
      'The imbalance measure of the urns. It and `w`, `alpha`, `beta` are absent with another method',
  }),
  w: z.int().optional().meta({ description: 'Balls per treatment at the start' }),
  alpha: z.int().optional().meta({ description: 'Balls added for the assigned treatment' }),
  beta: z.int().optional().meta({ description: 'Balls added for every other treatment' }),
};

/** The same, of a study with another method. */
export const METHOD_IN_FORCE = {
  method: z.enum(Object.keys(ALGORITHMS)).optional().meta({
    description: 'The method of allocation; absent: the urn',
  }),
  by: z.array(z.string()).optional().meta({
    description: 'The factors whose levels make a stratum; absent with a method without strata',
  }),
};

export const DesignInForce = z.strictObject({
  treatments: z.array(z.string()),
  closed_treatments: z.array(z.string()).meta({ description: 'They take no new participants' }),
  stopped_treatments: z.array(z.string()).optional().meta({
    description: 'Those of the closed ones on which nobody gets packs any more; absent: none',
  }),
  ratio: z.array(z.int()).optional().meta({
    description: 'How many slots each of `treatments` has in an urn; absent: one each',
  }),
  epoch: z.int().meta({ description: 'How often the urns began anew; 0: never' }),
  amendment: z.int().meta({ description: 'Number of the last amendment; 0 if there is none' }),
  factors: z.array(
    z.strictObject({
      name: z.string(),
      retired: z.boolean().meta({
        description: 'New participants have no level of it, and its urns are never drawn from',
      }),
      levels: z.array(
        z.strictObject({
          name: z.string(),
          earlier_names: z.array(z.string()),
          closed: z.boolean().meta({ description: 'It takes no new participants' }),
        }),
      ),
    }),
  ),
  ...URN_IN_FORCE,
  ...METHOD_IN_FORCE,
  id_pattern: z.string().optional(),
  target: z.int().optional(),
  blinding: z.enum(['open', 'blinded']),
  policies: z.strictObject({
    stop_at_limit: z.boolean(),
    level_counts: z.enum(['as-randomized', 'as-corrected']),
    void_counts: z.enum(['kept', 'removed']),
    forced_counts: z.enum(['counted', 'not-counted']),
  }),
  protocol: Protocol.optional(),
  visits: z.array(z.string()).optional().meta({
    description: 'The visits at which participants get packs; absent: none',
  }),
});
export type DesignInForce = z.infer<typeof DesignInForce>;

export function designInForce(inForce: Design): DesignInForce {
  const { treatments, closedTreatments, stoppedTreatments, epoch, visits } = inForce;
  const { amendment, idPattern, target, blinding, protocol } = inForce;
  const { stopAtLimit, levelCounts, voidCounts, forcedCounts } = inForce.policies;
  return {
    ...{ treatments: [...treatments], closed_treatments: [...closedTreatments], epoch },
    ...(stoppedTreatments.length > 0 && { stopped_treatments: [...stoppedTreatments] }),
    ...(hasRatio(inForce) && { ratio: ratioOf(inForce) }),
    ...{ amendment, ...methodInForce(inForce), blinding },
    factors: inForce.factors.map(factorInForce),
    ...(idPattern !== undefined && { id_pattern: idPattern }),
    ...(target !== undefined && { target }),
    policies: {
      stop_at_limit: stopAtLimit,
      level_counts: levelCounts,
      void_counts: voidCounts,
      forced_counts: forcedCounts,
    },
    ...(protocol && { protocol }),
    ...(visits.length > 0 && { visits: [...visits] }),
  };
}

export function methodInForce({ method }: Pick<Design, 'method'>) {
  if (method.name !== 'urn') return { method: method.name, ...('by' in method && { by: method.by }) };
  const { D, w, alpha, beta } = method;
  return { D, w, alpha, beta };
}

function factorInForce({
  name,
  levels,
  closed,
  earlierNames,
  isRetired,
}: Factor): DesignInForce['factors'][number] {
  return {
    name,
    retired: isRetired,
    levels: levels.map((level) => ({
      name: level,
      earlier_names: earlierNames.filter(({ now }) => now === level).map((earlier) => earlier.name),
      closed: closed.includes(level),
    })),
  };
}

export const LimitInForce = z.strictObject({
  factor: z.string().optional().meta({ description: 'Absent for the limit of the whole study' }),
  level: z.string().optional(),
  max: z.int(),
  enrolled: z.int().optional().meta({
    description: 'How many fill a place. Absent for a key that is limited to some levels',
  }),
});
export type LimitInForce = z.infer<typeof LimitInForce>;

/** @param filled how many fill a place; undefined if the key may not know */
export function limitsInForce(
  { limits: { total, levels = [] } = {} }: Design,
  filled: FilledLevels | undefined,
): LimitInForce[] {
  const of = (factor?: string, level?: string) => filled && { enrolled: filled.of(factor, level) };
  return [
    ...(total === undefined ? [] : [{ max: total, ...of() }]),
    ...levels.map(({ factor, level, max }) => ({ factor, level, max, ...of(factor, level) })),
  ];
}

/** Counts who fills a place, by each factor that the study limits. */
export class FilledLevels {
  #all = 0;
  /** By factor: its place in the design, and how many have each level. */
  readonly #factors: ReadonlyMap<string, { readonly index: number; readonly counts: Map<string, number> }>;

  constructor({ limits: { levels = [] } = {}, factors }: Design, participants: Iterable<Participant> = []) {
    this.#factors = new Map(
      levels.map(({ factor }) => [
        factor,
        { index: factors.findIndex(({ name }) => name === factor), counts: new Map() },
      ]),
    );
    for (const participant of participants) this.add(participant);
  }

  readonly add = (participant: Participant): void => {
    if (!fillsPlace(participant)) return;
    this.#all++;
    const levels = currentLevels(participant);
    for (const { index, counts } of this.#factors.values()) {
      const level = levels[index];
      if (level !== undefined) counts.set(level, (counts.get(level) ?? 0) + 1);
    }
  };

  /** In the whole study, or with a level. */
  of(factor?: string, level = ''): number {
    return factor === undefined ? this.#all : (this.#factors.get(factor)?.counts.get(level) ?? 0);
  }
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
