/**
 * The ledger of a study, for people who keep signed checkpoints of it or check its records with tools of their own: GET
 * /checkpoint, /inclusion_proof, /consistency_proof (RFC 6962) and /records.
 */
import { z } from 'zod';
import { Scope } from '../../../../events/access.ts';
import { textOf } from '../../../../events/record.ts';
import type { MerkleTree } from '../../../core/log/merkle-tree.ts';
import {
  ERRORS,
  MIN_REVISION,
  numberParameter,
  operation,
  ref,
  STUDY,
} from '../request/openapi-operation.ts';
import { numberOf, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { listJson, resultJson, SUCCESS } from '../request/reply.ts';
import { type Services, type StudyReply, type StudyRequest, studyHandler } from '../request/study-request.ts';

const Hash = z.base64().meta({ description: 'A SHA-256 hash' });
const Size = z
  .int()
  .positive()
  .meta({ description: 'Number of records in the tree: the last revision plus one' });

/** The hash of the first record in the examples, which is also the root of the tree of size 1. */
const EXAMPLE_HASH = 'n2mgJfq2Qe8mT8bVwEmmkDZ1qCPVJFyCJDQ1gZYyWLA=';

// GET /checkpoint: a signed checkpoint of a study's ledger, to be kept by anyone who may use the study

/** A checkpoint reveals only how many events a study has, so any key of the study may have it. */
const CHECKPOINT_SCOPES = Scope.options;

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
  CHECKPOINT_SCOPES,
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
  return studyHandler(services, CHECKPOINT_SCOPES, (request) => {
    const tree = treeOf(services, request, 'checkpoint', ['size']);
    const size = numberOf(request.query, 'size', 1, tree.size, tree.size);
    const { origin, note } = services.ledger.checkpoint(request.study.stream, size);
    const root = tree.root(size).toString('base64');
    return ledgerReply(request, resultJson(CheckpointResult, { origin, size, root, checkpoint: note }));
  });
}

/**
 * The Merkle tree of the study.
 * @param parameters the parameters that the route takes besides `api_key` and `study`
 * @throws HttpProblem 400 for any other parameter
 */
function treeOf(
  { ledger }: Services,
  { query, study }: StudyRequest,
  route: string,
  parameters: readonly string[],
): MerkleTree {
  refuseProblems(unknownParameters(query, new Set(['api_key', 'study', ...parameters]), route));
  return ledger.tree(study.stream);
}

function ledgerReply({ study }: StudyRequest, results: string): StudyReply {
  return { status: 200, message: SUCCESS, results, revision: study.revision };
}

// GET /inclusion_proof: proves that the record at a revision is in the study's Merkle tree of a given size

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

// GET /consistency_proof: proves that one Merkle tree of the study is the beginning of a larger one

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

// GET /records: a study's records exactly as stored, for auditors who check them with their own tools

const RECORDS_PARAMETERS = new Set(['api_key', 'study', 'from']);

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
  return studyHandler(services, ['audit'], async ({ query, turn, accepted, study }) => {
    refuseProblems(unknownParameters(query, RECORDS_PARAMETERS, 'records'));
    if (accepted.key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and the records are of all');
    const from = numberOf(query, 'from', 0, study.revision, 0);
    const page = await turn.inOrder(() => services.history.page(study.stream, from));
    const records = page.map(({ revision, record, sealed, leaf }) => ({
      revision,
      record: textOf(record),
      sealed: textOf(sealed),
      leaf: Buffer.from(leaf).toString('base64'),
    }));
    const results = listJson(RecordsResult, records);
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
