/** GET /study_config */
import { studyConfig } from '../../../projections/study-config.ts';
import { momentOf, studyAt } from '../request/moment.ts';
import { MOMENT_PARAMETERS, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import { type StudyRoutes, studyHandler } from '../request/study-request.ts';

const PARAMETERS = new Set(['api_key', 'study', ...MOMENT_PARAMETERS]);

export function getStudyConfig(routes: StudyRoutes) {
  return studyHandler(routes, ['read', 'blinded'], async (request) => {
    const { query, view, study, accepted } = request;
    const problems = unknownParameters(query, PARAMETERS, 'study_config');
    const moment = momentOf(request, problems);
    refuseProblems(problems);
    const { scopes } = accepted.key;
    const discloses = scopes.includes('audit') ? ({ what: 'seed' } as const) : undefined;
    if (!moment) {
      const results = view.configuration(study.registered, scopes);
      return { status: 200, message: SUCCESS, results, revision: study.revision, discloses };
    }
    const { states, revision } = await studyAt(routes, request, moment, { studyConfig });
    if (!states.studyConfig) throw new Error('a moment of a study that is before its registration');
    const results = view.configuration(states.studyConfig, scopes);
    return { status: 200, message: SUCCESS, results, revision, discloses };
  });
}
