/** GET /bundle: the zip archive that `urn bundle` makes, for a remote auditor. */
import { CONTENTS, type Content } from '../../../../events/record.ts';
import { fileNameAbout } from '../../../base/files.ts';
import { whileConnected } from '../request/in-progress.ts';
import { ERRORS, operation, STUDY } from '../request/openapi-operation.ts';
import { type Query, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { type Services, studyHandler } from '../request/study-request.ts';

const PARAMETERS = new Set(['api_key', 'study', 'content']);

export const bundleOperation = operation(
  'Download a bundle: one file with the records of a study, a report and a verifier',
  'bundle',
  ['audit'],
  {
    parameters: [
      STUDY,
      {
        name: 'content',
        in: 'query',
        required: true,
        description:
          '`full`: every sealed section (unblinding material). `open`: the treatments, but no states of the generator (unblinding material). `blinded`: neither. All three prove the same records.',
        schema: { type: 'string', enum: [...CONTENTS] },
      },
    ],
    content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } },
    empty: [],
    headers: {
      'Urn-Bundle-Sha256': {
        description: 'SHA-256 of the file in lower-case hex, as it is recorded in `operations`',
        schema: { type: 'string' },
      },
    },
    errors: {
      ...ERRORS,
      403: `${ERRORS[403]}. Also for a key that is limited to studies: a bundle shows the keys that the study names, with their limits`,
      503: `${ERRORS[503]}. Also while another bundle is being made or several are being sent, and if the service shuts down during this one`,
    },
  },
);

export function getBundle(services: Services) {
  return studyHandler(services, ['audit'], async ({ http, response, query, accepted: { key }, study }) => {
    const problems = unknownParameters(query, PARAMETERS, 'bundle');
    const content = contentOf(query, problems);
    refuseProblems(problems);
    // The records of `access` in a bundle show which other studies a key is limited to.
    if (key.studies || key.where)
      throw new HttpProblem(403, 'This API key is limited, and a bundle shows more than one study or level');
    const { stream, revision } = study;
    const { name, mode } = study.registered.configuration;
    const { sha256, bytes, file } = await whileConnected(http, (signal) =>
      services.bundles.make({ stream, content }, signal),
    );
    response.once('close', () => file.destroy());
    if (response.destroyed) file.destroy();
    const fileName = fileNameAbout(name, { isTest: mode === 'test', what: content, extension: '.zip' });
    return {
      status: 200,
      message: SUCCESS,
      results: file,
      revision,
      headers: {
        'Content-Type': 'application/zip',
        'Content-Length': String(bytes),
        // A name never has characters that cannot be encoded.
        'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(fileName)}`,
        'Urn-Bundle-Sha256': sha256,
      },
      discloses: { what: 'bundle', content, sha256 },
    };
  });
}

function contentOf(query: Query, problems: string[]): Content {
  const asked = query.get('content');
  const content = CONTENTS.find((one) => one === asked);
  if (content === undefined) problems.push(`content is missing or not one of ${CONTENTS.join(', ')}`);
  return content ?? 'blinded';
}
