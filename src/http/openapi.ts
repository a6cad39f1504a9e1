/** The OpenAPI 3.1 document, made from the schemas that the results are checked against. */
import { EVIDENCE_PATHS, EVIDENCE_SCHEMAS } from './openapi-evidence.ts';
import {
  BAD_REQUEST,
  BG_STATE,
  envelopeOf,
  idParameter,
  type Json,
  jsonSchema,
  MIN_REVISION,
  MOMENT,
  operation,
  PAGE,
  READ_ERRORS,
  ref,
  response,
  study,
  URN_NEXT,
} from './openapi-parts.ts';
import { ParticipantRecord, StudyConfigurationResult } from './request/schemas.ts';

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
          parameters: [study, MIN_REVISION, ...MOMENT],
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
            parameters: [
              study,
              idParameter(false),
              levels('Only participants of these levels'),
              MIN_REVISION,
              ...MOMENT,
              ...PAGE,
              BG_STATE,
            ],
            result: records,
            example: [EXAMPLE_RECORD],
            empty: [],
            headers: URN_NEXT,
            errors: { 400: BAD_REQUEST, ...READ_ERRORS },
          },
        ),
        post: operation('Randomize a new participant', 'randomizeParticipant', ['randomize'], {
          parameters: [
            study,
            idParameter(true),
            levels('One level of every factor'),
            BG_STATE,
            ...POST_HEADERS,
          ],
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
      ...EVIDENCE_PATHS,
      '/healthz': { get: operational('The process is alive', 'health') },
      '/readyz': {
        get: {
          ...operational(
            'Reads work: the projections have caught up with the log. The message counts the studies that take no participants, by state',
            'readiness',
          ),
          parameters: [
            {
              name: 'urn.for',
              in: 'query',
              description: 'Asks instead whether a POST can work',
              schema: { type: 'string', enum: ['writing'] },
            },
          ],
        },
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
        ...EVIDENCE_SCHEMAS,
        Error: envelopeOf({ description: 'Empty, but for a participant that is already assigned' }),
      },
    },
  };
}

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
    description:
      'Who stood behind a shared key; recorded with the event. In NFC, without characters that nobody sees.',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
];

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
