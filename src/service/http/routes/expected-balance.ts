/** GET /expected_balance: how far apart the arms of a study are, and how far apart they are in replicates of it. */
import { counted } from '../../../base/wording.ts';
import { replicateProblem } from '../../../statistics/replicate/replicate.ts';
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
      422: 'The study follows a list that was made elsewhere: how it was made is not in the log',
      503: `${ERRORS[503]}. Also while the replicates catch up with the study: ask again after Retry-After`,
    },
  },
);

export function getExpectedBalance(services: Services) {
  return studyHandler(services, SCOPES, async ({ query, accepted: { key }, design, study }) => {
    refuseProblems(unknownParameters(query, PARAMETERS, 'expected-balance'));
    if (key.where)
      throw new HttpProblem(
        403,
        'This API key is limited to some levels, and the expected balance tells of all',
      );
    // The range of the study is made of the numbers on each arm.
    if (key.scopes.includes('blinded'))
      throw new HttpProblem(403, 'This API key is blinded, and the balance tells of arms');
    const problem = replicateProblem(design());
    if (problem !== undefined) throw new HttpProblem(422, problem);
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
