/** GET /verification: the service itself verifies the study, with the streams `log` and `access`, and reports the result. */
import { decodeBase64, keptCheckpoint, parseOrigin } from '../../../core/log/formats.ts';
import { STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import type { Query } from '../request/query.ts';
import { SUCCESS } from '../request/reply.ts';
import type { Services } from '../request/services.ts';
import { keyHandler, requireScope, studyNameFor } from '../request/study-request.ts';
import { whileConnected } from '../request/while-connected.ts';
import { verificationJson } from './verification-result.ts';

export { VerificationResult } from './verification-result.ts';

const PARAMETERS = new Set(['api_key', 'study', 'checkpoint']);

export const verificationOperation = operation(
  'Verify the study and the streams `log` and `access`: check every record and decide every event again',
  'verification',
  ['audit'],
  {
    parameters: [
      STUDY,
      {
        name: 'checkpoint',
        in: 'query',
        description:
          'A signed checkpoint of this study, or of `log` or `access`, to compare the log with: the whole note in base64, as in Urn-Receipt',
        schema: { type: 'string', format: 'byte' },
      },
    ],
    result: ref('Verification'),
    empty: [],
    errors: {
      ...ERRORS,
      503: `${ERRORS[503]}. Also while another verification is running, and if the service shuts down during this one`,
    },
  },
);

export function getVerification(services: Services) {
  return keyHandler(services, async ({ http, query, accepted: { key } }, locals) => {
    // A study whose records cannot all be read needs a verification most.
    const { name, stream } = studyNameFor(services, key, query.get('study'));
    locals.study = stream.slice('study-'.length);
    locals.studyName = name;
    locals.isTest = services.studies.find(name)?.registered.configuration.mode === 'test';
    requireScope(key, ['audit']);
    const problems = unknownParameters(query, PARAMETERS, 'verification');
    const checkpoint = checkpointOf(query, { logName: services.logName, stream }, problems);
    refuseProblems(problems);
    if (key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and a verification is of all');
    const report = await whileConnected(http, (signal) =>
      services.verifications.run({ study: name, checkpoint }, signal),
    );
    const records = report.streams.find((one) => one.stream === stream)?.records ?? 0;
    const results = verificationJson(report, { stream, isLimited: key.studies !== undefined });
    return {
      status: 200,
      message: SUCCESS,
      results,
      revision: records - 1,
      discloses: { what: 'verification', ...(records > 0 && { toRevision: records - 1 }) },
    };
  });
}

/** Returns the given checkpoint note, in the form of `Urn-Receipt`. Any problems with it are added to `problems`. */
function checkpointOf(
  query: Query,
  { logName, stream }: { readonly logName: string; readonly stream: string },
  problems: string[],
): string | undefined {
  const given = query.get('checkpoint');
  if (given === undefined) return undefined;
  const bytes = decodeBase64(given);
  if (bytes === undefined || given === '') {
    const hint = given.includes(' ') ? ' (encode each + as %2B)' : '';
    problems.push(`checkpoint is not the base64 of a signed note, as in Urn-Receipt${hint}`);
    return undefined;
  }
  const note = Buffer.from(bytes).toString('utf8');
  const kept = keptCheckpoint(note, 'checkpoint');
  if ('why' in kept) {
    problems.push(`checkpoint is not the signed note of a checkpoint: ${kept.why}`);
    return undefined;
  }
  // A checkpoint of another stream would be ignored, and the report would look as if it had been compared.
  const of = parseOrigin(logName, kept.claims.origin)?.stream;
  if (of !== undefined && ![stream, 'log', 'access'].includes(of))
    problems.push(`checkpoint is of a stream other than this study's, which is ${stream}`);
  return note;
}
