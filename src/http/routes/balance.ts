/** GET /balance: participants of each level on each treatment. It tells arms in sum: for `audit` alone. */
import { type Balance, balance } from '../../../projections/balance.ts';
import { momentOf, studyAt } from '../request/moment.ts';
import { MOMENT_PARAMETERS, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { BalanceResult, checked } from '../request/schemas.ts';
import { type StudyReply, type StudyRoutes, studyHandler } from '../request/study-request.ts';

const PARAMETERS = new Set(['api_key', 'study', ...MOMENT_PARAMETERS]);

export function getBalance(routes: StudyRoutes) {
  return studyHandler(routes, ['audit'], async (request) => {
    const { query, accepted, study } = request;
    const problems = unknownParameters(query, PARAMETERS, 'balance');
    const moment = momentOf(request, problems);
    refuseProblems(problems);
    if (accepted.key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and a balance tells of all');
    if (!moment) {
      return shown(routes.runner.state(balance, study.stream), study.revision);
    }
    const { states, revision } = await studyAt(routes, request, moment, { balance });
    return shown(states.balance, revision);
  });
}

function shown(counts: Balance | undefined, revision: number): StudyReply {
  const results = JSON.stringify(checked(BalanceResult, counts));
  return {
    status: 200,
    message: SUCCESS,
    results,
    revision,
    discloses: { what: 'balance', toRevision: revision },
  };
}
