/** GET /inclusion_proof: proves that the record at a revision is in the study's Merkle tree of a given size. */
import { z } from 'zod';
import { MIN_REVISION, numberParameter, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { numberOf } from '../request/parameters.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { studyHandler } from '../request/study-request.ts';
import { EXAMPLE_HASH, Hash, ledgerReply, Size, treeOf } from './ledger-parts.ts';

export const InclusionProofResult = z.strictObject({
  revision: z.int().nonnegative(),
  size: Size,
  leaf: Hash.meta({ description: 'SHA-256(0x00 ‖ record)' }),
  proof: z
    .array(Hash)
    .meta({ description: 'The inclusion proof of RFC 6962 §2.1.1, from the leaf to the root' }),
});

export const inclusionProofOperation = operation(
  "Prove that a record is in the study's ledger",
  'inclusionProof',
  ['audit'],
  {
    parameters: [
      STUDY,
      MIN_REVISION,
      numberParameter('revision', true, 'Revision of the record'),
      numberParameter('size', false, 'Size of the tree; by default the current size', 1),
    ],
    result: ref('InclusionProof'),
    example: { revision: 0, size: 1, leaf: EXAMPLE_HASH, proof: [] },
    empty: {},
    errors: ERRORS,
  },
);

export function getInclusionProof(services: Services) {
  return studyHandler(services, ['audit'], (request) => {
    const tree = treeOf(services, request, 'inclusion_proof', ['revision', 'size']);
    const size = numberOf(request.query, 'size', 1, tree.size, tree.size);
    const revision = numberOf(request.query, 'revision', 0, size - 1);
    const proof = tree.inclusionProof(revision, size).map((node) => node.toString('base64'));
    const leaf = tree.leaf(revision).toString('base64');
    return ledgerReply(request, resultJson(InclusionProofResult, { revision, size, leaf, proof }));
  });
}
