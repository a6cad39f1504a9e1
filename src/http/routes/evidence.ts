/** GET /checkpoint, /inclusion_proof and /consistency_proof: what a study's ledger says, for those who keep it or check it. */
import { z } from 'zod';
import type { MerkleTree } from '../../ledger/merkle-tree.ts';
import { refuseProblems, unknownParameters } from '../parameters.ts';
import { HttpProblem } from '../problem.ts';
import type { Query } from '../query.ts';
import { SUCCESS } from '../reply.ts';
import { CheckpointResult, ConsistencyProofResult, InclusionProofResult, resultJson } from '../schemas.ts';
import { type StudyReply, type StudyRequest, type StudyRoutes, studyHandler } from '../study-request.ts';

/** A checkpoint tells how many events a study has, and nothing else: whoever may ask for anything may keep it. */
export function getCheckpoint(routes: StudyRoutes) {
  return studyHandler(routes, ['read', 'blinded', 'randomize', 'audit'], (request) => {
    const tree = treeOf(routes, request, 'checkpoint', ['size']);
    const size = numberOf(request.query, 'size', 1, tree.size, tree.size);
    const { origin, note } = routes.ledger.checkpoint(
      request.study.stream,
      size === tree.size ? undefined : size,
    );
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
    const leaf = Buffer.from(tree.leaf(revision)).toString('base64');
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

const Decimal = z.string().regex(/^(?:0|[1-9]\d{0,15})$/);

/** @throws HttpProblem 400 */
function numberOf(query: Query, name: string, least: number, most: number, otherwise?: number): number {
  const text = query.get(name);
  if (text === undefined && otherwise !== undefined) return otherwise;
  const value = Decimal.safeParse(text).success ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new HttpProblem(
    400,
    `${name} ${text === undefined ? 'is missing' : `is ${JSON.stringify(text)}`} (there is ${least} to ${most})`,
  );
}

function reply({ study }: StudyRequest, results: string): StudyReply {
  return { status: 200, message: SUCCESS, results, revision: study.revision };
}
