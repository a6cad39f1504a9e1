/** GET /checkpoint: a signed checkpoint of a study's ledger, to be kept by anyone who may use the study. */
import { z } from 'zod';
import { Scope } from '../../../../events/access.ts';
import { MIN_REVISION, numberParameter, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { numberOf } from '../request/parameters.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { studyHandler } from '../request/study-request.ts';
import { EXAMPLE_HASH, Hash, ledgerReply, Size, treeOf } from './ledger-parts.ts';

/** A checkpoint reveals only how many events a study has, so any key of the study may have it. */
const SCOPES = Scope.options;

export const CheckpointResult = z.strictObject({
  origin: z.string().meta({ description: '`<log name>/<stream>`' }),
  size: Size,
  root: Hash,
  checkpoint: z.string().meta({ description: 'The signed note (C2SP tlog-checkpoint). Keep it unchanged.' }),
});

const EXAMPLE_ORIGIN = 'urn/study-0fc46d39-d5da-5fbf-8d7d-4a9c1a2ae6b2';

export const checkpointOperation = operation(
  "Get a signed checkpoint of the study's ledger",
  'checkpoint',
  SCOPES,
  {
    parameters: [
      STUDY,
      MIN_REVISION,
      numberParameter(
        'size',
        false,
        'Size of an earlier tree; 1 holds only the registration. By default the current size.',
        1,
      ),
    ],
    result: ref('Checkpoint'),
    example: {
      origin: EXAMPLE_ORIGIN,
      size: 1,
      root: EXAMPLE_HASH,
      checkpoint: `${EXAMPLE_ORIGIN}\n1\n${EXAMPLE_HASH}\n\n— urn <base64 of key id and signature>\n`,
    },
    empty: {},
    errors: ERRORS,
  },
);

export function getCheckpoint(services: Services) {
  return studyHandler(services, SCOPES, (request) => {
    const tree = treeOf(services, request, 'checkpoint', ['size']);
    const size = numberOf(request.query, 'size', 1, tree.size, tree.size);
    const { origin, note } = services.ledger.checkpoint(request.study.stream, size);
    const root = tree.root(size).toString('base64');
    return ledgerReply(request, resultJson(CheckpointResult, { origin, size, root, checkpoint: note }));
  });
}
