/** GET /consistency_proof: proves that one Merkle tree of the study is the beginning of a larger one. */
import { z } from 'zod';
import { MIN_REVISION, numberParameter, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { numberOf } from '../request/parameters.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { studyHandler } from '../request/study-request.ts';
import { Hash, ledgerReply, Size, treeOf } from './ledger-parts.ts';

export const ConsistencyProofResult = z.strictObject({
  first: Size,
  second: Size,
  proof: z.array(Hash).meta({ description: 'The consistency proof of RFC 6962 §2.1.2' }),
});

export const consistencyProofOperation = operation(
  "Prove that an earlier state of the study's ledger is the beginning of a later one",
  'consistencyProof',
  ['audit'],
  {
    parameters: [
      STUDY,
      MIN_REVISION,
      numberParameter('first', true, 'Size of the earlier tree', 1),
      numberParameter('second', false, 'Size of the later tree; by default the current size', 1),
    ],
    result: ref('ConsistencyProof'),
    example: { first: 1, second: 1, proof: [] },
    empty: {},
    errors: ERRORS,
  },
);

export function getConsistencyProof(services: Services) {
  return studyHandler(services, ['audit'], (request) => {
    const tree = treeOf(services, request, 'consistency_proof', ['first', 'second']);
    const second = numberOf(request.query, 'second', 1, tree.size, tree.size);
    const first = numberOf(request.query, 'first', 1, second);
    const proof = tree.consistencyProof(first, second).map((node) => node.toString('base64'));
    return ledgerReply(request, resultJson(ConsistencyProofResult, { first, second, proof }));
  });
}
