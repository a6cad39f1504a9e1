/** What the routes about a study's ledger share: /checkpoint, /inclusion_proof, /consistency_proof and /records. */
import { z } from 'zod';
import type { MerkleTree } from '../../../core/log/merkle-tree.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import type { Services } from '../request/services.ts';
import type { StudyReply, StudyRequest } from '../request/study-request.ts';

export const Hash = z.base64().meta({ description: 'A SHA-256 hash' });
export const Size = z
  .int()
  .positive()
  .meta({ description: 'Number of records in the tree: the last revision plus one' });

/** The hash of the first record in the examples, which is also the root of the tree of size 1. */
export const EXAMPLE_HASH = 'n2mgJfq2Qe8mT8bVwEmmkDZ1qCPVJFyCJDQ1gZYyWLA=';

/**
 * The Merkle tree of the study.
 * @param parameters the parameters that the route takes besides `api_key` and `study`
 * @throws HttpProblem 400 for any other parameter
 */
export function treeOf(
  { ledger }: Services,
  { query, study }: StudyRequest,
  route: string,
  parameters: readonly string[],
): MerkleTree {
  refuseProblems(unknownParameters(query, new Set(['api_key', 'study', ...parameters]), route));
  return ledger.tree(study.stream);
}

export function ledgerReply({ study }: StudyRequest, results: string): StudyReply {
  return { status: 200, message: SUCCESS, results, revision: study.revision };
}
