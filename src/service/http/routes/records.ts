/** GET /records: a study's records exactly as stored, for auditors who check them with their own tools. */
import { z } from 'zod';
import { textOf } from '../../../../events/record.ts';
import { MIN_REVISION, numberParameter, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { numberOf, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS } from '../request/reply.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { studyHandler } from '../request/study-request.ts';
import { Hash } from './ledger-parts.ts';

const PARAMETERS = new Set(['api_key', 'study', 'from']);

export const RecordsResult = z.array(
  z.strictObject({
    revision: z.int().nonnegative(),
    record: z
      .string()
      .meta({ description: 'The record as canonical JSON. The leaf is the hash of its UTF-8 bytes.' }),
    sealed: z.string().meta({ description: 'Its sealed sections as canonical JSON' }),
    leaf: Hash.meta({ description: 'SHA-256(0x00 ‖ record), as stored' }),
  }),
);

export const recordsOperation = operation(
  'Read the records of a study exactly as stored, in pages',
  'records',
  ['audit'],
  {
    parameters: [
      STUDY,
      MIN_REVISION,
      numberParameter(
        'from',
        false,
        'First revision, by default 0. The next page begins after the last revision of this one. The header Urn-Revision gives the last revision of the study.',
      ),
    ],
    result: ref('Records'),
    empty: [],
    errors: ERRORS,
  },
);

export function getRecords(services: Services) {
  return studyHandler(services, ['audit'], async ({ query, accepted, study }) => {
    refuseProblems(unknownParameters(query, PARAMETERS, 'records'));
    if (accepted.key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and the records are of all');
    const from = numberOf(query, 'from', 0, study.revision, 0);
    const page = await services.history.page(study.stream, from);
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
