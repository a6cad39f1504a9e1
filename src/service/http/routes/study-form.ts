/** GET /study_form: what forms ask about a participant, and which answers the study takes from this key. */
import { z } from 'zod';
import { activeFactors } from '../../../core/model/design.ts';
import { levelsWithin, retiredLimit } from '../../../core/model/key-limits.ts';
import { MIN_REVISION, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { outsideLimits } from '../request/refused-reply.ts';
import { SUCCESS } from '../request/reply.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { studyHandler } from '../request/study-request.ts';

const SCOPES = ['randomize'] as const;
const PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);

/** It names no arm: a key that only randomizes sees none. */
export const StudyFormResult = z.strictObject({
  id_pattern: z.string().optional().meta({ description: 'What an id must match as a whole' }),
  factors: z
    .array(z.strictObject({ name: z.string(), levels: z.array(z.string()) }))
    .meta({ description: 'The levels that take participants and are within the limits of the key' }),
  visits: z.array(z.string()).optional().meta({
    description: 'The visits at which participants get further packs; absent: none',
  }),
});
type StudyFormResult = z.infer<typeof StudyFormResult>;

const EXAMPLE: StudyFormResult = {
  id_pattern: '[0-9]{2}-[0-9]{4}',
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'local_site', levels: ['30-Dupage County'] },
  ],
};

export const studyFormOperation = operation(
  'Show what a form asks about a new participant',
  'studyForm',
  SCOPES,
  {
    parameters: [STUDY, MIN_REVISION],
    result: ref('StudyForm'),
    example: EXAMPLE,
    empty: {},
    errors: ERRORS,
  },
);

export function getStudyForm(services: Services) {
  return studyHandler(services, SCOPES, (request) => {
    const { query, study, accepted } = request;
    const { where } = accepted.key;
    refuseProblems(unknownParameters(query, PARAMETERS, 'study_form'));
    const inForce = request.design();
    if (retiredLimit(where, inForce) !== undefined) throw outsideLimits(where, inForce);
    const { idPattern, visits } = inForce;
    const shown: StudyFormResult = {
      ...(idPattern !== undefined && { id_pattern: idPattern }),
      factors: activeFactors(inForce).map((factor) => ({
        name: factor.name,
        levels: levelsWithin(where, factor),
      })),
      ...(visits.length > 0 && { visits: [...visits] }),
    };
    const results = resultJson(StudyFormResult, shown);
    return { status: 200, message: SUCCESS, results, revision: study.revision };
  });
}
