/** GET /explanation: why a participant got this arm. The answer reveals arms and generator states, so it needs `audit`. */
import { z } from 'zod';
import type { BgState } from '../../../../events/study.ts';
import { toJson } from '../../../base/json.ts';
import { ParticipantId } from '../../../core/model/members.ts';
import { studyState } from '../../../core/study/state.ts';
import { participantEvents } from '../../../core/study/views.ts';
import { type Explanation, explain } from '../../../evidence/explain/explain.ts';
import { whyUndrawn } from '../../../evidence/explain/undrawn.ts';
import { idParameter, MIN_REVISION, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { BgStateResult, checked } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { mayKnowOf, studyHandler } from '../request/study-request.ts';

const PARAMETERS = new Set(['api_key', 'study', 'id']);

const PerSlot = z.array(z.int()).meta({ description: 'In the order of `treatments`' });
const Doubles = z
  .array(z.number())
  .meta({ description: 'For the selected urn, in the order of `treatments`' });

export const ExplanationResult = z.strictObject({
  study: z.string(),
  id: z.string(),
  revision: z.int().meta({ description: "Revision of the participant's record" }),
  at: z.string().meta({ description: 'When it was written, in ISO 8601 (UTC)' }),
  user: z.string(),
  on_behalf_of: z.string().optional().meta({ description: 'The header X-On-Behalf-Of of the request' }),
  earlier_participants: z.int().meta({ description: 'Participants before this one whom the urns counted' }),
  D: z.enum(['range', 'variance', 'chisquare']),
  w: z.int(),
  alpha: z.int(),
  beta: z.int(),
  treatments: z.array(z.string()).meta({
    description:
      'The arm of each slot that could be drawn: closed arms are left out, and with a ratio an arm is there once for each of its slots',
  }),
  urns: z
    .array(
      z.strictObject({
        factor: z.string(),
        level: z.string(),
        counts: PerSlot,
        balls: PerSlot,
        imbalance: z.number(),
        candidate: z.boolean(),
        selected: z.boolean(),
      }),
    )
    .meta({
      description:
        "For each factor that was not retired, the urn of the participant's level, with its name and balls as they were before this participant",
    }),
  corrections: z
    .array(
      z.strictObject({
        revision: z.int(),
        type: z.string(),
        id: z.string().meta({ description: 'The corrected participant, by the id as randomized' }),
        levels: z.array(z.strictObject({ factor: z.string(), level: z.string() })),
      }),
    )
    .meta({ description: 'Earlier corrections that changed the counts of these urns' }),
  candidates: z
    .array(z.string())
    .meta({ description: 'The factors with the largest imbalance, sorted by code point' }),
  missed_by_rounding: z.array(z.string()).meta({
    description:
      'Factors that are exactly as imbalanced as the candidates, but differ from them by rounding in floating point',
  }),
  lot: z.strictObject({ below: z.int(), result: z.int() }).optional().meta({
    description:
      'A uniform integer: the index of the selected factor among the candidates. Absent if there was only one candidate.',
  }),
  selected_factor: z.string(),
  uniform53: z.int().meta({ description: 'k, where u = k * 2^-53 is the uniform number drawn' }),
  uniform: z.number().meta({ description: 'u' }),
  probabilities: Doubles,
  cumulative: Doubles,
  trt: z.string().meta({ description: 'The first treatment whose cumulative probability is greater than u' }),
  code: z.string().optional().meta({
    description: 'The pack that the participant got at the time, as recorded: no random number chose it',
  }),
  bg_state_before: BgStateResult.meta({ description: "The generator's state before the lot and the draw" }),
  bg_state_after: BgStateResult,
  agrees: z.boolean().meta({ description: 'Whether the record agrees with this explanation' }),
  differences: z
    .array(z.strictObject({ field: z.string(), recorded: z.string(), recomputed: z.string() }))
    .meta({ description: 'Fields in which the record differs, with the values as JSON text' }),
});

export const explanationOperation = operation(
  'Explain why a participant got this arm',
  'explanation',
  ['audit'],
  {
    parameters: [STUDY, idParameter(true), MIN_REVISION],
    result: ref('Explanation'),
    empty: [],
    errors: {
      ...ERRORS,
      404: `${ERRORS[404]}, or the study has no such participant within the limits of the key`,
      422: 'The service drew nothing: the participant was imported, or allocated outside the service and entered by hand',
    },
  },
);

export function getExplanation(services: Services) {
  return studyHandler(services, ['audit'], async (request) => {
    const { query, study, participants } = request;
    const given = ParticipantId.safeParse(query.get('id'));
    refuseProblems([
      ...unknownParameters(query, PARAMETERS, 'explanation'),
      ...(given.error?.issues ?? []).map(({ message }) => message),
    ]);
    const id = given.data ?? '';
    const participant = participants.find(id);
    // A participant outside the key's limits must be indistinguishable from one that does not exist.
    if (!participant || !mayKnowOf(request, participant))
      throw new HttpProblem(404, `This study has no participant ${JSON.stringify(id)}`);
    const { states, next } = await services.history.foldUntil(
      study.stream,
      { before: studyState, events: participantEvents },
      ({ revision }) => revision >= participant.revision,
    );
    const undrawn = next && whyUndrawn(next);
    if (undrawn !== undefined) throw new HttpProblem(422, undrawn);
    if (states.before.status === 'unregistered' || next?.type !== 'ParticipantRandomized')
      throw new Error('a participant of the projection is not in the log');
    const results = explanationJson(explain(states.before, next, states.events.inOrder));
    return {
      status: 200,
      message: SUCCESS,
      results,
      revision: participant.revision,
      discloses: { what: 'explanation', participant: participant.participantId },
    };
  });
}

/** JSON of the result. Its 128-bit integers are bare numbers, as in `bg_state`. */
function explanationJson(explanation: Explanation): string {
  const result = checked(ExplanationResult, resultOf(explanation));
  return toJson({
    ...result,
    bg_state_before: bare(result.bg_state_before),
    bg_state_after: bare(result.bg_state_after),
  });
}

function resultOf(explanation: Explanation): z.input<typeof ExplanationResult> {
  const { study, participantId, revision, at, user, D, w, alpha, beta, lot, differences } = explanation;
  return {
    ...{ study, id: participantId, revision, at, user },
    ...(explanation.onBehalfOf !== undefined && { on_behalf_of: explanation.onBehalfOf }),
    earlier_participants: explanation.earlierParticipants,
    ...{ D, w, alpha, beta },
    treatments: [...explanation.treatments],
    urns: explanation.urns.map((urn) => ({ ...urn, counts: [...urn.counts] })),
    corrections: explanation.corrections.map(({ participantId, levels, ...move }) => ({
      ...move,
      id: participantId,
      levels: levels.map((level) => ({ ...level })),
    })),
    candidates: [...explanation.candidates],
    missed_by_rounding: [...explanation.missedByRounding],
    ...(lot && { lot }),
    selected_factor: explanation.selectedFactor,
    uniform53: explanation.uniform53,
    uniform: explanation.uniform,
    probabilities: [...explanation.probabilities],
    cumulative: [...explanation.cumulative],
    trt: explanation.treatment,
    ...(explanation.code !== undefined && { code: explanation.code }),
    bg_state_before: explanation.bgStateBefore,
    bg_state_after: explanation.bgStateAfter,
    agrees: differences.length === 0,
    differences: differences.map((difference) => ({ ...difference })),
  };
}

function bare({ state, ...rest }: BgState) {
  return { ...rest, state: { inc: BigInt(state.inc), state: BigInt(state.state) } };
}
