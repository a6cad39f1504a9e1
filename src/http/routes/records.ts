/** GET /records: a study's records as they are stored, for auditors who check them with tools of their own. */
import { textOf } from '../../../events/record.ts';
import { numberOf, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { RecordsResult, resultJson } from '../request/schemas.ts';
import { type StudyRoutes, studyHandler } from '../request/study-request.ts';

const PARAMETERS = new Set(['api_key', 'study', 'from']);

export function getRecords(routes: StudyRoutes) {
  return studyHandler(routes, ['audit'], async ({ query, accepted, study }) => {
    refuseProblems(unknownParameters(query, PARAMETERS, 'records'));
    if (accepted.key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and the records are of all');
    const from = numberOf(query, 'from', 0, study.revision, 0);
    const page = await routes.history.page(study.stream, from);
    const records = page.map(({ revision, record, sealed, leaf }) => ({
      revision,
      record: textOf(record),
      sealed: textOf(sealed),
      leaf: Buffer.from(leaf).toString('base64'),
    }));
    const results = resultJson(RecordsResult, records);
    const toRevision = from + page.length - 1;
    return {
      status: 200,
      message: SUCCESS,
      results,
      revision: study.revision,
      discloses: { what: 'records', fromRevision: from, toRevision },
    };
  });
}
