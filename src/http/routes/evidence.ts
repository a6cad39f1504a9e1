/** GET /checkpoint, /inclusion_proof and /consistency_proof: what a study's ledger says, for those who keep it or check it. */
import type { MerkleTree } from '../../ledger/merkle-tree.ts';
import { numberOf, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import {
  CheckpointResult,
  ConsistencyProofResult,
  InclusionProofResult,
  resultJson,
} from '../request/schemas.ts';
import {
  type StudyReply,
  type StudyRequest,
  type StudyRoutes,
  studyHandler,
} from '../request/study-request.ts';

/** A checkpoint tells how many events a study has, and nothing else: whoever may ask for anything may keep it. */
export function getCheckpoint(routes: StudyRoutes) {
  return studyHandler(routes, ['read', 'blinded', 'randomize', 'audit'], (request) => {
    const tree = treeOf(routes, request, 'checkpoint', ['size']);
    const size = numberOf(request.query, 'size', 1, tree.size, tree.size);
    const { origin, note } = routes.ledger.checkpoint(request.study.stream, size);
    const root = tree.root(size).toString('base64');
    return reply(request, resultJson(CheckpointResult, { origin, size, root, checkpoint: note }));
  });
}

/** That the record at a revision stands in the tree of a size. */
export function getInclusionProof(routes: StudyRoutes) {
  return studyHandler(routes, ['audit'], (request) => {
    const tree = treeOf(routes, request, 'inclusion_proof', ['revision', 'size']);
    const size = numberOf(request.query, 'size', 1, tree.size, tree.size);
    const revision = numberOf(request.query, 'revision', 0, size - 1);
    const proof = tree.inclusionProof(revision, size).map((node) => node.toString('base64'));
    const leaf = tree.leaf(revision).toString('base64');
    return reply(request, resultJson(InclusionProofResult, { revision, size, leaf, proof }));
  });
}

/** That the tree of the first size is the beginning of that of the second. */
export function getConsistencyProof(routes: StudyRoutes) {
  return studyHandler(routes, ['audit'], (request) => {
    const tree = treeOf(routes, request, 'consistency_proof', ['first', 'second']);
    const second = numberOf(request.query, 'second', 1, tree.size, tree.size);
    const first = numberOf(request.query, 'first', 1, second);
    const proof = tree.consistencyProof(first, second).map((node) => node.toString('base64'));
    return reply(request, resultJson(ConsistencyProofResult, { first, second, proof }));
  });
}

function treeOf(
  { ledger }: StudyRoutes,
  { query, study }: StudyRequest,
  route: string,
  parameters: readonly string[],
): MerkleTree {
  refuseProblems(unknownParameters(query, new Set(['api_key', 'study', ...parameters]), route));
  return ledger.tree(study.stream);
}

function reply({ study }: StudyRequest, results: string): StudyReply {
  return { status: 200, message: SUCCESS, results, revision: study.revision };
}
