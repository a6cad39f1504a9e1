/** GET /expected_balance: how far apart the arms of a study are, and how far apart they are in replicates of it. */
import { z } from 'zod';
import { counted } from '../../../base/counted.ts';
import { MIN_REVISION, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import type { Services } from '../request/services.ts';
import { studyHandler } from '../request/study-request.ts';

const SCOPES = ['read', 'audit'] as const;
const PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);
/** A request waits no longer than this for a band. */
const WAIT_MS = 1500;
const RETRY_AFTER_SECONDS = '2';

const ExpectedRange = z.strictObject({
  expected: z.array(z.array(z.number()).length(5)).meta({
    description: '2.5, 25, 50, 75 and 97.5 % of the range in the replicates, at each of the points',
  }),
  actual: z.array(z.number()).meta({ description: 'The range in the study itself' }),
  percentile: z.array(z.number().min(0).max(1)).meta({
    description: 'The share of the replicates with a smaller range, plus half of those with the same',
  }),
});

export const ExpectedBalanceResult = z
  .strictObject({
    reps: z.int().meta({ description: 'How many replicates there are' }),
    seed: z.int().meta({
      description:
        'Replicate r is drawn from PCG64(2^100 + 2^32·seed + r). It is never the seed of the study',
    }),
    points: z.array(z.int()).meta({
      description:
        'Numbers of participants, at most 200 and evenly spaced. Values at a point are those before the next participant came; the last ones are current',
    }),
    overall: ExpectedRange,
    levels: z.map(z.string(), z.map(z.string(), ExpectedRange)).meta({
      description:
        'By factor and level, under their current names; including retired factors and closed levels',
    }),
    course: z
      .strictObject({ actual: z.number(), percentile: z.number() })
      .meta({ description: 'The largest range overall after any participant' }),
  })
  .meta({
    description:
      'The range is (R/K)·(max n_k/r_k − min n_k/r_k) of the K open arms, as the urns count them. The band holds for each point by itself: 1 point in 20 outside is no cause for alarm',
  });

const AT_TWO_POINTS = {
  expected: [
    [1, 1, 1, 1, 1],
    [0, 0, 0, 2, 2],
  ],
  actual: [1, 0],
  percentile: [0.5, 0.3155],
};
const EXAMPLE = {
  reps: 1000,
  seed: 2893172412,
  points: [1, 2],
  overall: AT_TWO_POINTS,
  levels: { sex: { Male: AT_TWO_POINTS } },
  course: { actual: 1, percentile: 0.3155 },
};

export const expectedBalanceOperation = operation(
  'How far apart the arms are, and how far apart they are in replicates of the study',
  'expected-balance',
  SCOPES,
  {
    parameters: [STUDY, MIN_REVISION],
    result: ref('ExpectedBalance'),
    example: EXAMPLE,
    empty: {},
    errors: {
      ...ERRORS,
      403: `${ERRORS[403]}. Also for a key with the scope \`blinded\`, or limited to some levels`,
      503: `${ERRORS[503]}. Also while the replicates catch up with the study: ask again after Retry-After`,
    },
  },
);

export function getExpectedBalance(services: Services) {
  return studyHandler(services, SCOPES, async ({ query, accepted: { key }, study }) => {
    refuseProblems(unknownParameters(query, PARAMETERS, 'expected-balance'));
    if (key.where)
      throw new HttpProblem(
        403,
        'This API key is limited to some levels, and the expected balance tells of all',
      );
    // The range of the study is made of the numbers on each arm.
    if (key.scopes.includes('blinded'))
      throw new HttpProblem(403, 'This API key is blinded, and the balance tells of arms');
    const { stream, registered } = study;
    const { studyId } = registered;
    const band = await services.expectedBands.of({ stream, studyId }, study.revision, WAIT_MS);
    if (!('json' in band))
      throw new HttpProblem(
        503,
        `The expected balance is being worked out (so far for ${band.participants} of ${counted(band.of, 'participant')}); ask again`,
        { 'Retry-After': RETRY_AFTER_SECONDS },
      );
    const { json, revision } = band;
    return {
      status: 200,
      message: SUCCESS,
      results: json,
      revision,
      discloses: { what: 'expected-balance', toRevision: revision },
    };
  });
}
