/** GET /balance: how many participants of each level got each treatment. Such totals reveal arms, so it needs `audit`. */
import { z } from 'zod';
import type { Balance } from '../../../core/model/balance.ts';
import { balance } from '../../../core/study/fold.ts';
import { MIN_REVISION, MOMENT, STUDY } from '../request/documented-parameters.ts';
import { momentOf, studyAt } from '../request/moment.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { MOMENT_PARAMETERS, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { checked } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { type StudyReply, studyHandler } from '../request/study-request.ts';

const PARAMETERS = new Set(['api_key', 'study', ...MOMENT_PARAMETERS]);

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

const TALLY = {
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
const EXAMPLE = { treatments: ['MART', 'RMC-Q', 'RMC-A'], ...TALLY, counted: TALLY, voided: [0, 1, 0] };

export const balanceOperation = operation(
  'How many participants of each level are on each treatment',
  'balance',
  ['audit'],
  {
    parameters: [STUDY, MIN_REVISION, ...MOMENT],
    result: ref('Balance'),
    example: EXAMPLE,
    empty: [],
    errors: ERRORS,
  },
);

export function getBalance(services: Services) {
  return studyHandler(services, ['audit'], async (request) => {
    const { query, accepted, study } = request;
    const problems = unknownParameters(query, PARAMETERS, 'balance');
    const moment = momentOf(request, problems);
    refuseProblems(problems);
    if (accepted.key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and a balance tells of all');
    if (!moment) return reply(services.runner.state(balance, study.stream), study.revision);
    services.limits.lists.beginPast(request.response);
    const { states, revision } = await studyAt(services, request, moment, { balance });
    return reply(states.balance, revision);
  });
}

function reply(balance: Balance | undefined, revision: number): StudyReply {
  const results = JSON.stringify(checked(BalanceResult, balance?.view()));
  return {
    status: 200,
    message: SUCCESS,
    results,
    revision,
    discloses: { what: 'balance', toRevision: revision },
  };
}
