/** The OpenAPI document's part about evidence: what auditors keep, check and ask for. */

import {
  BAD_REQUEST,
  idParameter,
  type Json,
  jsonSchema,
  MIN_REVISION,
  MOMENT,
  numberParameter,
  operation,
  READ_ERRORS,
  ref,
  study,
  URN_NEXT,
} from './openapi-parts.ts';
import {
  BalanceResult,
  CheckpointResult,
  ConsistencyProofResult,
  InclusionProofResult,
  RecordsResult,
} from './request/schemas.ts';
import { ExplanationResult } from './routes/explanation-result.ts';
import { OperationsResult } from './routes/operations-result.ts';
import { VerificationResult } from './routes/verification-result.ts';

const EXAMPLE_CHECKPOINT = {
  origin: 'urn/study-0fc46d39-d5da-5fbf-8d7d-4a9c1a2ae6b2',
  size: 1,
  root: 'n2mgJfq2Qe8mT8bVwEmmkDZ1qCPVJFyCJDQ1gZYyWLA=',
  checkpoint:
    'urn/study-0fc46d39-d5da-5fbf-8d7d-4a9c1a2ae6b2\n1\nn2mgJfq2Qe8mT8bVwEmmkDZ1qCPVJFyCJDQ1gZYyWLA=\n\n— urn <base64 of key id and signature>\n',
};

const EXAMPLE_OPERATIONS = [
  {
    revision: 1,
    at: '2026-02-21T08:17:01.330Z',
    type: 'RequestRefused',
    actor: { keyId: 'k5f1c09ab34d2', user: 'site-11', accessRevision: 0 },
    data: {
      operation: 'POST /study_participants',
      study: 'CHS JCOIN',
      reason: 'duplicate',
      count: 1999,
      firstAt: '2026-02-21T08:16:01.298Z',
      lastAt: '2026-02-21T08:17:00.911Z',
    },
  },
  {
    revision: 2,
    at: '2026-03-16T10:30:05.518Z',
    type: 'EvidenceDisclosed',
    actor: { keyId: 'k8d20e7713fa9', user: 'auditor', accessRevision: 2 },
    data: {
      what: 'explanation',
      study: 'CHS JCOIN',
      participant: '001-0001',
      count: 1,
      firstAt: '2026-03-16T10:30:05.517Z',
      lastAt: '2026-03-16T10:30:05.517Z',
    },
  },
];

const EXAMPLE_BALANCE = {
  treatments: ['MART', 'RMC-Q', 'RMC-A'],
  totals: [2, 2, 1],
  factors: [
    {
      factor: 'sex',
      levels: [
        { level: 'Male', counts: [1, 1, 1] },
        { level: 'Female', counts: [1, 1, 0] },
      ],
    },
  ],
};

export const EVIDENCE_PATHS: Json = {
  '/records': {
    get: operation('The records of a study as they are stored, a page at a time', 'records', ['audit'], {
      parameters: [
        study,
        MIN_REVISION,
        numberParameter(
          'from',
          false,
          'First revision; without it 0. The next page begins behind the last revision of this one; Urn-Revision tells where the study ends.',
        ),
      ],
      result: ref('Records'),
      empty: [],
      errors: { 400: BAD_REQUEST, ...READ_ERRORS },
    }),
  },
  '/operations': {
    get: operation(
      'Refused requests, disclosures and runs of the service, a page at a time, the oldest first',
      'operations',
      ['audit'],
      {
        parameters: [
          { ...study, required: false, description: 'Only what concerns this study' },
          numberParameter(
            'from',
            false,
            'First revision of the stream `operations`; without it 0. The header Urn-Next says where the next page begins.',
          ),
        ],
        result: ref('Operations'),
        example: EXAMPLE_OPERATIONS,
        empty: [],
        headers: {
          'Urn-Revision': {
            description: 'Revision of the last event of the stream `operations`',
            schema: { type: 'integer' },
          },
          ...URN_NEXT,
        },
        errors: { 400: BAD_REQUEST, ...READ_ERRORS },
      },
    ),
  },
  '/verification': {
    get: operation(
      'Verify the study, with the streams `log` and `access`: every record checked, every event decided again',
      'verification',
      ['audit'],
      {
        parameters: [
          study,
          {
            name: 'checkpoint',
            in: 'query',
            description:
              'A signed checkpoint of this study (or of `log` or `access`) to compare the log with: the whole note in base64, as in Urn-Receipt',
            schema: { type: 'string', format: 'byte' },
          },
        ],
        result: ref('Verification'),
        empty: [],
        errors: {
          400: BAD_REQUEST,
          ...READ_ERRORS,
          503: `${READ_ERRORS[503]}. Also while another verification is under way, and when the service shuts down meanwhile`,
        },
      },
    ),
  },
  '/checkpoint': {
    get: operation(
      "A signed checkpoint of the study's ledger",
      'checkpoint',
      ['read', 'blinded', 'randomize', 'audit'],
      {
        parameters: [
          study,
          MIN_REVISION,
          numberParameter('size', false, 'Of an earlier state: 1 is the registration alone', 1),
        ],
        result: ref('Checkpoint'),
        example: EXAMPLE_CHECKPOINT,
        empty: {},
        errors: { 400: BAD_REQUEST, ...READ_ERRORS },
      },
    ),
  },
  '/inclusion_proof': {
    get: operation("That a record stands in the study's ledger", 'inclusionProof', ['audit'], {
      parameters: [
        study,
        MIN_REVISION,
        numberParameter('revision', true, 'The record'),
        numberParameter('size', false, 'The tree; without it the present one', 1),
      ],
      result: ref('InclusionProof'),
      example: { revision: 0, size: 1, leaf: EXAMPLE_CHECKPOINT.root, proof: [] },
      empty: {},
      errors: { 400: BAD_REQUEST, ...READ_ERRORS },
    }),
  },
  '/consistency_proof': {
    get: operation(
      "That an earlier state of the study's ledger is the beginning of a later one",
      'consistencyProof',
      ['audit'],
      {
        parameters: [
          study,
          MIN_REVISION,
          numberParameter('first', true, 'Size of the earlier tree', 1),
          numberParameter('second', false, 'Size of the later one; without it the present one', 1),
        ],
        result: ref('ConsistencyProof'),
        example: { first: 1, second: 1, proof: [] },
        empty: {},
        errors: { 400: BAD_REQUEST, ...READ_ERRORS },
      },
    ),
  },
  '/explanation': {
    get: operation('Why a participant got this arm', 'explanation', ['audit'], {
      parameters: [study, idParameter(true), MIN_REVISION],
      result: ref('Explanation'),
      empty: [],
      errors: {
        400: BAD_REQUEST,
        ...READ_ERRORS,
        404: `${READ_ERRORS[404]}; or it has no such participant, or none within the limits of the key`,
      },
    }),
  },
  '/balance': {
    get: operation('Participants of each level on each treatment', 'balance', ['audit'], {
      parameters: [study, MIN_REVISION, ...MOMENT],
      result: ref('Balance'),
      example: EXAMPLE_BALANCE,
      empty: [],
      errors: { 400: BAD_REQUEST, ...READ_ERRORS },
    }),
  },
};

export const EVIDENCE_SCHEMAS: Json = {
  Records: jsonSchema(RecordsResult),
  Operations: jsonSchema(OperationsResult),
  Verification: jsonSchema(VerificationResult),
  Checkpoint: jsonSchema(CheckpointResult),
  InclusionProof: jsonSchema(InclusionProofResult),
  ConsistencyProof: jsonSchema(ConsistencyProofResult),
  Explanation: jsonSchema(ExplanationResult),
  Balance: jsonSchema(BalanceResult),
};
