/** The OpenAPI 3.1 document, made from the schemas that the results are checked against. */
import { z } from 'zod';
import { ExplanationResult } from './explanation-result.ts';
import {
  BalanceResult,
  BareUint128,
  CheckpointResult,
  ConsistencyProofResult,
  InclusionProofResult,
  ParticipantId,
  ParticipantRecord,
  RecordsResult,
  StudyConfigurationResult,
} from './schemas.ts';

type Json = Record<string, unknown>;

export function openApiDocument(version: string): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Randomization service',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: [
        "Randomizes participants of clinical trials with Wei's urn design and numpy's PCG64. The method is dynamic",
        'allocation that balances on factors: an urn per level. Every response but this document, `/docs` and',
        '`/metrics` is an envelope of exactly `message`, `results` and `status`.',
      ].join(' '),
    },
    security: [{ query: [] }, { bearer: [] }, { header: [] }],
    paths: {
      '/study_config': {
        get: operation('Read the configuration of a study', 'studyConfig', ['read', 'blinded'], {
          parameters: [study, ...MOMENT],
          result: ref('StudyConfiguration'),
          example: EXAMPLE_CONFIGURATION,
          empty: {},
          errors: { 400: BAD_REQUEST, ...READ_ERRORS },
        }),
      },
      '/study_participants': {
        get: operation(
          'List participants, in the order of randomization',
          'listParticipants',
          ['read', 'blinded'],
          {
            parameters: [study, idParameter(false), levels('Only participants of these levels'), ...MOMENT],
            result: records,
            example: [EXAMPLE_RECORD],
            empty: [],
            errors: { 400: BAD_REQUEST, ...READ_ERRORS },
          },
        ),
        post: operation('Randomize a new participant', 'randomizeParticipant', ['randomize'], {
          parameters: [study, idParameter(true), levels('One level of every factor'), ...POST_HEADERS],
          result: records,
          example: [EXAMPLE_RECORD],
          empty: [],
          headers: {
            'Urn-Receipt': {
              description:
                'A signed checkpoint that includes the new allocation: the whole note (as in /checkpoint) in base64, at most 1000 characters. Keep it: what it covers cannot be changed unnoticed.',
              schema: { type: 'string', maxLength: 1000 },
            },
          },
          errors: {
            400: `${BAD_REQUEST} Also when the id is already assigned; \`results\` then holds the existing record if its levels are the same and the key may read it.`,
            ...READ_ERRORS,
            409: 'The study is paused',
            422: 'The Idempotency-Key was used for another request',
          },
        }),
      },
      '/records': {
        get: operation('The records of a study as they are stored, a page at a time', 'records', ['audit'], {
          parameters: [
            study,
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
      '/checkpoint': {
        get: operation(
          "A signed checkpoint of the study's ledger",
          'checkpoint',
          ['read', 'blinded', 'randomize', 'audit'],
          {
            parameters: [
              study,
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
          parameters: [study, idParameter(true)],
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
          parameters: [study, ...MOMENT],
          result: ref('Balance'),
          example: EXAMPLE_BALANCE,
          empty: [],
          errors: { 400: BAD_REQUEST, ...READ_ERRORS },
        }),
      },
      '/healthz': { get: operational('The process is alive', 'health') },
      '/readyz': {
        get: operational('The service is ready: its projections have caught up with the log', 'readiness'),
      },
    },
    components: {
      securitySchemes: {
        query: { type: 'apiKey', in: 'query', name: 'api_key' },
        bearer: { type: 'http', scheme: 'bearer' },
        header: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
      schemas: {
        StudyConfiguration: jsonSchema(StudyConfigurationResult),
        ParticipantRecord: jsonSchema(ParticipantRecord),
        Records: jsonSchema(RecordsResult),
        Checkpoint: jsonSchema(CheckpointResult),
        InclusionProof: jsonSchema(InclusionProofResult),
        ConsistencyProof: jsonSchema(ConsistencyProofResult),
        Explanation: jsonSchema(ExplanationResult),
        Balance: jsonSchema(BalanceResult),
        Error: envelopeOf({ description: 'Empty, but for a participant that is already assigned' }),
      },
    },
  };
}

const BAD_REQUEST =
  'Malformed, a parameter is missing or unknown, or a level is invalid; the message names every problem.';
const READ_ERRORS = {
  401: 'The API key is missing or not valid',
  403: 'The key lacks the scope, or is limited to other levels',
  404: 'No such study, or not one of the key',
  429: 'Too many failed attempts from this address (a valid key is never refused)',
  503: 'Starting, overloaded, or the log has no room or does not answer; try again after Retry-After',
};

const EXAMPLE_CONFIGURATION = {
  factors: { sex: ['Male', 'Female'], local_site: ['11-Cook County – Chicago', '30-Dupage County'] },
  treatments: ['MART', 'RMC-Q', 'RMC-A'],
  D: 'chisquare',
  alpha: 0,
  beta: 1,
  w: 1,
  urn_selection: 'method1',
};

const EXAMPLE_RECORD = {
  id: '001',
  f_sex: 'Male',
  f_local_site: '30-Dupage County',
  trt: 'RMC-Q',
  datetime: 'Wed, 10 Feb 2021 00:01:08 GMT',
  user: 'site-30',
};

const EXAMPLE_CHECKPOINT = {
  origin: 'urn/study-0fc46d39-d5da-5fbf-8d7d-4a9c1a2ae6b2',
  size: 1,
  root: 'n2mgJfq2Qe8mT8bVwEmmkDZ1qCPVJFyCJDQ1gZYyWLA=',
  checkpoint:
    'urn/study-0fc46d39-d5da-5fbf-8d7d-4a9c1a2ae6b2\n1\nn2mgJfq2Qe8mT8bVwEmmkDZ1qCPVJFyCJDQ1gZYyWLA=\n\n— urn <base64 of key id and signature>\n',
};

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

const study = {
  name: 'study',
  in: 'query',
  required: true,
  description: "The study's name",
  schema: { type: 'string' },
};

/** A factor's name never begins with `urn.`. */
const MOMENT = [
  {
    name: 'urn.revision',
    in: 'query',
    description: 'As it stood at this revision. Needs the scope `audit` besides; excludes urn.at.',
    schema: { type: 'integer', minimum: 0 },
  },
  {
    name: 'urn.at',
    in: 'query',
    description:
      'As it stood at this instant: up to the first event, in the order of revisions, that is later. The header Urn-Revision says which revision that is. Needs the scope `audit` besides; excludes urn.revision.',
    schema: { type: 'string', format: 'date-time' },
    example: '2027-06-30T12:00:00Z',
  },
];

const POST_HEADERS = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes a retry safe: the same request under the same key gets the same record. Scoped to study and user.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
  {
    name: 'X-On-Behalf-Of',
    in: 'header',
    description: 'Who stood behind a shared key; recorded with the event',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
];

function idParameter(required: boolean): Json {
  return { name: 'id', in: 'query', required, schema: jsonSchema(ParticipantId) };
}

function numberParameter(name: string, required: boolean, description: string, minimum = 0): Json {
  return { name, in: 'query', required, description, schema: { type: 'integer', minimum } };
}

/** Factors are bare parameters, whose names the study decides. */
function levels(description: string): Json {
  return {
    name: 'factors',
    in: 'query',
    style: 'form',
    explode: true,
    description: `${description}: a parameter per factor, by its bare name, for example sex=Male`,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    example: { sex: 'Male', local_site: '30-Dupage County' },
  };
}

const records = { type: 'array', items: ref('ParticipantRecord') };

interface Operation {
  parameters: readonly Json[];
  result: Json;
  /** An example of `results`. */
  example?: unknown;
  /** `results` on an error. */
  empty: unknown;
  errors: Readonly<Record<number, string>>;
  /** Headers of a success besides those that all have. */
  headers?: Json;
}

function operation(summary: string, operationId: string, scopes: readonly string[], parts: Operation): Json {
  const { parameters, result, example, empty, errors, headers } = parts;
  const failures = Object.entries(errors).map(([status, description]) => [
    status,
    response(description, ref('Error'), { message: description, results: empty, status: Number(status) }),
  ]);
  return {
    tags: ['Studies'],
    summary,
    operationId,
    description: `Needs a key with the scope ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`,
    parameters,
    responses: {
      200: {
        ...response(
          'Success',
          envelopeOf(result),
          example === undefined ? undefined : { message: 'Success', results: example, status: 200 },
        ),
        headers: {
          'Urn-Revision': {
            description: 'Revision of the study that the answer shows',
            schema: { type: 'integer' },
          },
          ...headers,
        },
      },
      ...Object.fromEntries(failures),
    },
  };
}

function operational(summary: string, operationId: string): Json {
  const responses = {
    200: response('Success', envelopeOf({ type: 'object' }), {
      message: 'Success',
      results: {},
      status: 200,
    }),
    503: response('Not ready', ref('Error'), {
      message: 'The service is starting',
      results: [],
      status: 503,
    }),
  };
  return { tags: ['Operation'], summary, operationId, security: [], responses };
}

function envelopeOf(results: Json): Json {
  return {
    type: 'object',
    required: ['message', 'results', 'status'],
    additionalProperties: false,
    properties: {
      message: { type: 'string', description: '`Success`, or what is wrong' },
      results,
      status: { type: 'integer', description: 'Equal to the HTTP status' },
    },
  };
}

function response(description: string, schema: Json, example: Json | undefined): Json {
  const content = { schema, ...(example && { example }) };
  return { description, content: { 'application/json': content } };
}

function ref(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function jsonSchema(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { type } = zodSchema._zod.def;
      if (type === 'bigint') jsonSchema.type = 'integer';
      if (zodSchema === BareUint128) {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum: 0 });
      }
      if (type === 'map')
        Object.assign(jsonSchema, {
          type: 'object',
          additionalProperties: { type: 'array', items: { type: 'string' } },
        });
    },
  });
  return rest;
}
