/** GET /operations: who was refused, who was shown what, and when the service ran. Reading it is not recorded again. */
import { studyOf } from '../../operations/describe.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import { numberOf, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { keyHandler, requireScope, type StudyRoutes, studyFor } from '../request/study-request.ts';
import { operationsJson } from './operations-result.ts';

const PARAMETERS = new Set(['api_key', 'study', 'from']);

export function getOperations(routes: StudyRoutes) {
  return keyHandler(routes, async ({ query, accepted: { key } }, locals) => {
    const asked = query.get('study');
    if (asked !== undefined) locals.studyName = studyFor(routes, key, asked).registered.configuration.name;
    requireScope(key, ['audit']);
    refuseProblems(unknownParameters(query, PARAMETERS, 'operations'));
    if (key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and the operations are of all');
    const revision = routes.runner.revision(OPERATIONS);
    const from = numberOf(query, 'from', 0, Math.max(revision, 0), 0);
    const page = await routes.history.events(OPERATIONS, from);
    // A key of some studies sees what concerns these; the starts and stops of the service concern none.
    const only = asked === undefined ? key.studies : [asked];
    const shown = only ? page.filter((event) => only.includes(studyOf(event) ?? '')) : page;
    const next = (page.at(-1)?.revision ?? revision) + 1;
    const headers: Record<string, string> = next <= revision ? { 'Urn-Next': String(next) } : {};
    return { status: 200, message: SUCCESS, results: operationsJson(shown), revision, headers };
  });
}
