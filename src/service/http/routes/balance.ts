/**
 * How far apart the arms of a study are: GET /balance counts participants by level and treatment, and GET /expected_balance
 * compares the study with replicates of it. Both tell of all levels, and so of arms: not for a key that is limited to some
 * levels.
 */
import { z } from 'zod';
import { counted } from '../../../base/wording.ts';
import type { Balance } from '../../../core/model/balance.ts';
import { balance } from '../../../core/study/fold.ts';
import { replicateProblem } from '../../../statistics/replicate/replicate.ts';
import { ERRORS, MIN_REVISION, MOMENT, operation, ref, STUDY } from '../request/openapi-operation.ts';
import { MOMENT_PARAMETERS, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { checked, SUCCESS } from '../request/reply.ts';
import { momentOf, type Services, type StudyReply, studyAt, studyHandler } from '../request/study-request.ts';

const Counts = z
  .array(z.int())
  .meta({ description: 'Number of participants on each treatment, in the order of `treatments`' });

/** Lists rather than objects, because a JSON reader may reorder members whose names are numbers. */
const tally = {
  totals: Counts,
  factors: z.array(
    z.strictObject({
      factor: z.string(),
      levels: z.array(z.strictObject({ level: z.string(), counts: Counts })),
    }),
  ),
};

export const BalanceResult = z
  .strictObject({
    treatments: z.array(z.string()),
    ratio: z.array(z.int()).optional().meta({
      description: 'How many slots each treatment has; absent: one each',
    }),
    ...tally,
    counted: z.strictObject(tally).meta({
      description:
        'Who is counted: the policies of the study decide whether this follows corrected levels and voided participants',
    }),
    voided: Counts.meta({ description: 'How many of the participants are voided, on each treatment' }),
  })
  .meta({
    description: '`totals` and `factors` count everybody who was randomized, at their current levels',
  });

const EXAMPLE_TALLY = {
  totals: [2, 2, 1],
  factors: [
    {
      factor: 'sex',
      levels: [
        { level: 'Male', counts: [1, 1, 1] },
        { level: 'Female', counts: [1, 1, 0] },
      ],
    },
  ],
};
const BALANCE_EXAMPLE = {
  treatments: ['MART', 'RMC-Q', 'RMC-A'],
  ...EXAMPLE_TALLY,
  counted: EXAMPLE_TALLY,
  voided: [0, 1, 0],
};

export const balanceOperation = operation(
  'How many participants of each level are on each treatment',
  'balance',
  ['audit'],
  {
    parameters: [STUDY, MIN_REVISION, ...MOMENT],
    result: ref('Balance'),
    example: BALANCE_EXAMPLE,
    empty: [],
    errors: ERRORS,
  },
);

const BALANCE_PARAMETERS = new Set(['api_key', 'study', ...MOMENT_PARAMETERS]);

/** GET /balance. Such totals reveal arms, so it needs `audit`. */
export function getBalance(services: Services) {
  return studyHandler(services, ['audit'], async (request) => {
    const { query, accepted, study } = request;
    const problems = unknownParameters(query, BALANCE_PARAMETERS, 'balance');
    const moment = momentOf(request, problems);
    refuseProblems(problems);
    if (accepted.key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and a balance tells of all');
    if (!moment) return balanceReply(services.runner.state(balance, study.stream), study.revision);
    services.limits.lists.beginPast(request.response);
    const { states, revision } = await studyAt(services, request, moment, { balance });
    return balanceReply(states.balance, revision);
  });
}

function balanceReply(balance: Balance | undefined, revision: number): StudyReply {
  const results = JSON.stringify(checked(BalanceResult, balance?.view()));
  return {
    status: 200,
    message: SUCCESS,
    results,
    revision,
    discloses: { what: 'balance', toRevision: revision },
  };
}

const BAND_SCOPES = ['read', 'audit'] as const;

const EXAMPLE_AT_TWO_POINTS = {
  expected: [
    [1, 1, 1, 1, 1],
    [0, 0, 0, 2, 2],
  ],
  actual: [1, 0],
  percentile: [0.5, 0.3155],
};
const BAND_EXAMPLE = {
  reps: 1000,
  seed: 2893172412,
  points: [1, 2],
  overall: EXAMPLE_AT_TWO_POINTS,
  levels: { sex: { Male: EXAMPLE_AT_TWO_POINTS } },
  course: { actual: 1, percentile: 0.3155 },
};

export const expectedBalanceOperation = operation(
  'How far apart the arms are, and how far apart they are in replicates of the study',
  'expected-balance',
  BAND_SCOPES,
  {
    parameters: [STUDY, MIN_REVISION],
    result: ref('ExpectedBalance'),
    example: BAND_EXAMPLE,
    empty: {},
    errors: {
      ...ERRORS,
      403: `${ERRORS[403]}. Also for a key with the scope \`blinded\`, or limited to some levels`,
      422: 'The study follows a list that was made elsewhere: how it was made is not in the log',
      503: `${ERRORS[503]}. Also while the replicates catch up with the study: ask again after Retry-After`,
    },
  },
);

const BAND_PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);
/** A request waits no longer than this for a band. */
const BAND_WAIT_MS = 1500;
const RETRY_AFTER_SECONDS = '2';

/** GET /expected_balance. The replicates are made in the background, so the answer may be to ask again. */
export function getExpectedBalance(services: Services) {
  return studyHandler(services, BAND_SCOPES, async ({ query, accepted: { key }, design, study }) => {
    refuseProblems(unknownParameters(query, BAND_PARAMETERS, 'expected-balance'));
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
    const band = await services.expectedBands.of({ stream, studyId }, study.revision, BAND_WAIT_MS);
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
