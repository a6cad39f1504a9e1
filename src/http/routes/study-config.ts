/** GET /study_config */

import { HttpProblem } from '../problem.ts';
import { SUCCESS } from '../reply.ts';
import { type StudyRoutes, studyHandler } from '../study-request.ts';

const PARAMETERS = new Set(['api_key', 'study']);

export function getStudyConfig(routes: StudyRoutes) {
  return studyHandler(routes, ['read', 'blinded'], ({ query, view, study, accepted }) => {
    const unknown = [...query.keys()].filter((name) => !PARAMETERS.has(name));
    if (unknown.length > 0)
      throw new HttpProblem(
        400,
        unknown.map((name) => `${name} is not a parameter of study_config`).join('; '),
      );
    const results = view.configuration(study.registered, accepted.key.scopes);
    return { status: 200, message: SUCCESS, results, revision: study.revision };
  });
}
