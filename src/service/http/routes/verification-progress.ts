/** GET /verification_progress: how far the verification of a study is, for clients that wait for it. */
import { z } from 'zod';
import { STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { keyHandler, requireScope, studyNameFor } from '../request/study-request.ts';

/** The streams that are verified with every study. */
const COMMON = ['log', 'access'] as const;

const PARAMETERS = new Set(['api_key', 'study']);

export const VerificationProgressResult = z.strictObject({
  verified: z
    .int()
    .optional()
    .meta({ description: 'Records verified so far. Absent: no verification of this study is under way' }),
  records: z.int().meta({ description: 'Records to verify: of the study, and of `log` and `access`' }),
});

export const verificationProgressOperation = operation(
  'How far the verification of a study is',
  'verificationProgress',
  ['audit'],
  {
    parameters: [STUDY],
    result: ref('VerificationProgress'),
    example: { verified: 2000, records: 3127 },
    empty: {},
    errors: ERRORS,
  },
);

export function getVerificationProgress(services: Services) {
  const { runner, verifications } = services;
  return keyHandler(services, async ({ query, accepted: { key } }, locals) => {
    // As for the verification, the study may be one whose records cannot all be read.
    const { name, stream } = studyNameFor(services, key, query.get('study'));
    locals.study = stream.slice('study-'.length);
    locals.studyName = name;
    requireScope(key, ['audit']);
    refuseProblems(unknownParameters(query, PARAMETERS, 'verification_progress'));
    if (key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and a verification is of all');
    const verified = verifications.progressOf(name);
    const records = [stream, ...COMMON].reduce((sum, one) => sum + runner.revision(one) + 1, 0);
    const progress = { ...(verified !== undefined && { verified }), records };
    return {
      status: 200,
      message: SUCCESS,
      results: resultJson(VerificationProgressResult, progress),
      revision: runner.revision(stream),
    };
  });
}
