/** An explanation as HTTP shows it, checked against its schema before it leaves. */
import { z } from 'zod';
import type { BgState } from '../../../events/study.ts';
import type { Explanation } from '../../explain/explain.ts';
import { toJson } from '../request/json.ts';
import { BgStateResult, checked } from '../request/schemas.ts';

const PerTreatment = z.array(z.int()).meta({ description: 'In the order of the treatments' });
const Doubles = z
  .array(z.number())
  .meta({ description: 'Of the selected urn, in the order of the treatments' });

export const ExplanationResult = z.strictObject({
  study: z.string(),
  id: z.string(),
  revision: z.int().meta({ description: "Revision of the participant's record" }),
  at: z.string().meta({ description: 'When it was written, in ISO 8601 (UTC)' }),
  user: z.string(),
  on_behalf_of: z.string().optional().meta({ description: 'The X-On-Behalf-Of of the request' }),
  earlier_participants: z.int(),
  D: z.enum(['range', 'variance', 'chisquare']),
  w: z.int(),
  alpha: z.int(),
  beta: z.int(),
  treatments: z.array(z.string()),
  urns: z
    .array(
      z.strictObject({
        factor: z.string(),
        level: z.string(),
        counts: PerTreatment,
        balls: PerTreatment,
        imbalance: z.number(),
        candidate: z.boolean(),
        selected: z.boolean(),
      }),
    )
    .meta({ description: "The urn of the participant's level of each factor, before this participant" }),
  candidates: z.array(z.string()).meta({ description: 'Factors, sorted by code point' }),
  missed_by_rounding: z.array(z.string()).meta({
    description: 'Factors as imbalanced as the candidates on paper, but not in the last bit of a double',
  }),
  lot: z
    .strictObject({ below: z.int(), result: z.int() })
    .optional()
    .meta({ description: 'A uniform integer: the place among the candidates. Absent when there was one.' }),
  selected_factor: z.string(),
  uniform53: z.int().meta({ description: 'k of the uniform u = k * 2^-53' }),
  uniform: z.number().meta({ description: 'u itself' }),
  probabilities: Doubles,
  cumulative: Doubles,
  trt: z.string().meta({ description: 'The first treatment whose cumulative probability is above u' }),
  bg_state_before: BgStateResult.meta({ description: "The generator's state before the lot and the draw" }),
  bg_state_after: BgStateResult,
  agrees: z.boolean().meta({ description: 'Whether the record says the same' }),
  differences: z
    .array(z.strictObject({ field: z.string(), recorded: z.string(), recomputed: z.string() }))
    .meta({ description: 'Where the record says something else; the values as JSON text' }),
});

/** JSON of the result, its 128-bit integers bare, as those of `bg_state` are. */
export function explanationJson(explanation: Explanation): string {
  const result = checked(ExplanationResult, shown(explanation));
  return toJson({
    ...result,
    bg_state_before: bare(result.bg_state_before),
    bg_state_after: bare(result.bg_state_after),
  });
}

function shown(explanation: Explanation): z.input<typeof ExplanationResult> {
  const { study, participantId, revision, at, user, D, w, alpha, beta, lot, differences } = explanation;
  return {
    ...{ study, id: participantId, revision, at, user },
    ...(explanation.onBehalfOf !== undefined && { on_behalf_of: explanation.onBehalfOf }),
    earlier_participants: explanation.earlierParticipants,
    ...{ D, w, alpha, beta },
    treatments: [...explanation.treatments],
    urns: explanation.urns.map((urn) => ({ ...urn, counts: [...urn.counts] })),
    candidates: [...explanation.candidates],
    missed_by_rounding: [...explanation.missedByRounding],
    ...(lot && { lot }),
    selected_factor: explanation.selectedFactor,
    uniform53: explanation.uniform53,
    uniform: explanation.uniform,
    probabilities: [...explanation.probabilities],
    cumulative: [...explanation.cumulative],
    trt: explanation.treatment,
    bg_state_before: explanation.bgStateBefore,
    bg_state_after: explanation.bgStateAfter,
    agrees: differences.length === 0,
    differences: differences.map((difference) => ({ ...difference })),
  };
}

function bare({ state, ...rest }: BgState) {
  return { ...rest, state: { inc: BigInt(state.inc), state: BigInt(state.state) } };
}
