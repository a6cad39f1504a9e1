/** GET /study_config: the configuration of a study. */
import { z } from 'zod';
import type { Scope } from '../../../../events/access.ts';
import { toJson } from '../../../base/json.ts';
import { activeFactors, type Design, openLevels } from '../../../core/model/design.ts';
import type { RegisteredStudy } from '../../../core/model/model.ts';
import { design, studyConfig } from '../../../core/study/fold.ts';
import {
  METHOD_IN_FORCE,
  MethodParametersResult,
  methodInForce,
  methodParameters,
  URN_IN_FORCE,
} from '../../../core/study/public-design.ts';
import { MIN_REVISION, MOMENT, STUDY } from '../request/documented-parameters.ts';
import { momentOf, studyAt } from '../request/moment.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { MOMENT_PARAMETERS, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import { checked } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { studyHandler } from '../request/study-request.ts';

const PARAMETERS = new Set(['api_key', 'study', ...MOMENT_PARAMETERS]);

export const StudyConfigurationResult = z.strictObject({
  factors: z
    .map(z.string(), z.array(z.string()))
    .meta({ description: 'The levels of each factor that take participants, by its name' }),
  treatments: z.array(z.string()),
  D: URN_IN_FORCE.D,
  alpha: URN_IN_FORCE.alpha,
  beta: URN_IN_FORCE.beta,
  w: URN_IN_FORCE.w,
  starting_seed: z
    .bigint()
    .optional()
    .meta({ description: 'Only shown to a key with the scope `audit`, because it reveals every assignment' }),
  urn_selection: z.literal('method1').optional(),
  ...METHOD_IN_FORCE,
  method_parameters: MethodParametersResult.optional().meta({
    description: 'How the method draws. Only shown to a key with the scope `audit`',
  }),
});

const EXAMPLE = {
  factors: { sex: ['Male', 'Female'], local_site: ['11-Cook County – Chicago', '30-Dupage County'] },
  treatments: ['MART', 'RMC-Q', 'RMC-A'],
  D: 'chisquare',
  alpha: 0,
  beta: 1,
  w: 1,
  urn_selection: 'method1',
};

export const studyConfigOperation = operation(
  'Read the configuration of a study',
  'studyConfig',
  ['read', 'blinded'],
  {
    parameters: [STUDY, MIN_REVISION, ...MOMENT],
    result: ref('StudyConfiguration'),
    example: EXAMPLE,
    empty: {},
    errors: ERRORS,
  },
);

export function getStudyConfig(services: Services) {
  return studyHandler(services, ['read', 'blinded'], async (request) => {
    const { query, study, accepted } = request;
    const problems = unknownParameters(query, PARAMETERS, 'study_config');
    const moment = momentOf(request, problems);
    refuseProblems(problems);
    const { scopes } = accepted.key;
    const discloses = scopes.includes('audit') ? ({ what: 'seed' } as const) : undefined;
    if (!moment) {
      const results = configurationJson(request.design(), study.registered, scopes);
      return { status: 200, message: SUCCESS, results, revision: study.revision, discloses };
    }
    const { states, revision } = await studyAt(services, request, moment, { design, studyConfig });
    if (!states.design || !states.studyConfig)
      throw new Error('a moment of a study that is before its registration');
    const results = configurationJson(states.design, states.studyConfig, scopes);
    return { status: 200, message: SUCCESS, results, revision, discloses };
  });
}

/**
 * JSON of the configuration in force, with the levels that take participants. Only the scope `audit` may see
 * `starting_seed`.
 */
function configurationJson(
  inForce: Design,
  { seed, parameters }: RegisteredStudy,
  scopes: readonly Scope[],
): string {
  const { treatments, method } = inForce;
  const isAudit = scopes.includes('audit');
  const result = {
    factors: new Map(activeFactors(inForce).map((factor) => [factor.name, openLevels(factor)])),
    treatments,
    ...methodInForce(inForce),
    starting_seed: isAudit ? BigInt(seed) : undefined,
    ...(method.name === 'urn' && { urn_selection: method.urnSelection }),
    ...(isAudit && { method_parameters: methodParameters(inForce, parameters) }),
  };
  return toJson(checked(StudyConfigurationResult, result));
}
