/**
 * How routes describe their operations for the OpenAPI document: each with one of four functions, and with whatever several
 * operations have in common, such as errors, parameters and headers.
 */
import { z } from 'zod';
import { ParticipantId } from '../../../core/model/members.ts';
import { DRY_RUN_RESULT } from './command-reply.ts';
import { JSON_BODY_KIB } from './json-body.ts';
import {
  BareUint128,
  BgStateResult,
  PackOfVisit,
  placeMembers,
  recordMembers,
  remarkMembers,
} from './study-view.ts';

export type Json = Record<string, unknown>;

interface Operation extends Answers {
  parameters: readonly Json[];
  /** Beside the scopes. */
  description?: string;
}

interface Answers {
  /** Absent if a success has no envelope, but only `content`. */
  result?: Json;
  /** An example of `results`. */
  example?: unknown;
  /** `results` on an error. */
  empty: unknown;
  errors: Readonly<Record<number, string>>;
  /** Headers of a successful response, in addition to those of every operation. */
  headers?: Json;
  /** Whether the answer shows one study, so that headers say its revision and mode. Default: true. */
  isOfOneStudy?: boolean;
  /** Other content of a successful response, by its type. */
  content?: Json;
}

/**
 * An operation that takes its parameters in the query string.
 * @param scopes a key needs one of these; empty: any scope is enough
 */
export function operation(
  summary: string,
  operationId: string,
  scopes: readonly string[],
  parts: Operation,
): Json {
  const { parameters, description, ...answers } = parts;
  const about = aboutOperation(summary, operationId, scopes);
  return {
    ...about,
    ...(description !== undefined && { description: `${description} ${about['description']}` }),
    parameters,
    responses: responsesOf(answers),
  };
}

interface BodyOperation extends Answers {
  result: Json;
  body: Json;
  bodyExample: Json;
}

/** An operation that takes its parameters in a JSON body. */
export function bodyOperation(
  summary: string,
  operationId: string,
  scopes: readonly string[],
  { body, bodyExample, result, ...answers }: BodyOperation,
): Json {
  return {
    ...aboutOperation(summary, operationId, scopes),
    parameters: WRITE_HEADERS,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: body, example: bodyExample } },
    },
    responses: responsesOf({
      ...answers,
      result: { anyOf: [result, DRY_RUN_RESULT] },
      headers: {
        ...answers.headers,
        'Urn-Dry-Run': { description: '`true` if this was a dry run', schema: { type: 'string' } },
      },
      errors: { ...answers.errors, ...BODY_ERRORS },
    }),
  };
}

/** An operation about the session itself, which needs no scope. */
export function sessionOperation(
  summary: string,
  operationId: string,
  parts: Omit<Answers, 'empty'> & { readonly description: string; readonly body?: Json },
): Json {
  const { description, body, headers = {}, ...answers } = parts;
  return {
    tags: ['Sessions'],
    summary,
    operationId,
    description,
    security: body ? [] : [{ session: [] }],
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      200: { ...successOf(answers), headers },
      ...failuresOf(answers.errors, {}),
    },
  };
}

/** An operation of /healthz or /readyz, which needs no key. */
export function probeOperation(summary: string, operationId: string): Json {
  const responses = {
    200: responseWith('Success', envelopeOf({ type: 'object' }), {
      message: 'Success',
      results: {},
      status: 200,
    }),
    ...failuresOf({ 503: 'The service is not ready' }, []),
  };
  return { tags: ['Operation'], summary, operationId, security: [], responses };
}

/** `a`, `b` or `c` */
const ANY_OF = new Intl.ListFormat('en-GB', { type: 'disjunction' });

function aboutOperation(summary: string, operationId: string, scopes: readonly string[]): Json {
  return {
    tags: ['Studies'],
    summary,
    operationId,
    description:
      scopes.length === 0
        ? 'Needs a key, with any scope.'
        : `Needs a key with the scope ${ANY_OF.format(scopes.map((scope) => `\`${scope}\``))}.`,
  };
}

const STUDY_HEADERS = {
  'Urn-Revision': {
    description: 'The revision of the study that the response shows',
    schema: { type: 'integer' },
  },
  'Urn-Mode': {
    description: '`test` if the study is a test. Absent for a live study.',
    schema: { type: 'string', enum: ['test'] },
  },
};

/** On every answer of 400 or more. */
const REFUSED_HEADER = { 'Urn-Refused': { $ref: '#/components/headers/Urn-Refused' } };

function responsesOf({ empty, errors, headers, isOfOneStudy = true, content, ...answers }: Answers): Json {
  const success = successOf(answers);
  return {
    200: {
      ...success,
      content: { ...success.content, ...content },
      headers: {
        ...(isOfOneStudy && STUDY_HEADERS),
        ...headers,
      },
    },
    ...failuresOf(errors, empty),
  };
}

function successOf({ result, example }: Pick<Answers, 'result' | 'example'>) {
  if (result === undefined) return { description: 'Success', content: {} };
  return responseWith(
    'Success',
    envelopeOf(result),
    example === undefined ? undefined : { message: 'Success', results: example, status: 200 },
  );
}

function failuresOf(errors: Answers['errors'], empty: unknown): Json {
  const failures = Object.entries(errors).map(([status, description]) => [
    status,
    {
      ...responseWith(description, ref('Error'), {
        message: description,
        results: empty,
        status: Number(status),
      }),
      headers: REFUSED_HEADER,
    },
  ]);
  return Object.fromEntries(failures);
}

export function envelopeOf(results: Json): Json {
  return {
    type: 'object',
    required: ['message', 'results', 'status'],
    additionalProperties: false,
    properties: {
      message: { type: 'string', description: '`Success`, or an explanation of the error' },
      results,
      status: { type: 'integer', description: 'The HTTP status' },
    },
  };
}

function responseWith(description: string, schema: Json, example: Json | undefined) {
  const content = { schema, ...(example && { example }) };
  return { description, content: { 'application/json': content } };
}

export function ref(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

// Errors

const BAD_REQUEST =
  'The request is malformed, a parameter is missing or unknown, or a level is invalid. The message names every problem.';
/** The errors of an operation by status, with what each means. */
export const ERRORS = {
  400: BAD_REQUEST,
  401: 'The API key is missing or not valid',
  403: 'The key lacks the scope, or is limited to other levels',
  404: 'There is no such study, or the key is not valid for it',
  429: 'Too many failed attempts from this address (a valid key is never refused for this), or the key exceeds what it may have at one time or in one hour. Try again after Retry-After',
  503: 'The service is starting or overloaded, or the log is out of space or does not answer. Try again after Retry-After',
};

/** The 409 of a route that writes to a study. */
export const FORBIDDEN_NOW =
  'The state of the study, of the participant or of a pack forbids it: `Urn-Refused` says which, and the message what to do';

/** The 404 of a route that writes an event about one participant. */
export const NOT_FOUND = `${ERRORS[404]}. Or there is no such participant, or the key is limited to other participants`;

export const BODY_ERRORS = {
  400: 'The body is not JSON, lacks a member, or has one that is unknown, given twice or not valid; or there is a parameter in the query string. The message names every problem that the members have.',
  413: `The body is longer than ${JSON_BODY_KIB} KiB`,
  415: 'The body is not JSON by its Content-Type',
};

// Parameters and headers

export const STUDY = {
  name: 'study',
  in: 'query',
  required: true,
  description: "The study's name",
  schema: { type: 'string' },
};

export function idParameter(required: boolean): Json {
  return { name: 'id', in: 'query', required, schema: jsonSchema(ParticipantId) };
}

/** The parameters for factors. Each factor is a bare parameter, and the study decides its name. */
export function levelParameters(description: string): Json {
  return {
    name: 'factors',
    in: 'query',
    style: 'form',
    explode: true,
    description: `${description}: one parameter per factor, named like the factor, for example sex=Male`,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    example: { sex: 'Male', local_site: '30-Dupage County' },
  };
}

/** A factor's name never begins with `urn.`. */
export const MIN_REVISION = {
  name: 'urn.min_revision',
  in: 'query',
  description:
    'Wait until this instance shows at least this revision of the study, for example the Urn-Revision of a response from another instance. After 5 seconds the response is 503.',
  schema: { type: 'integer', minimum: 0 },
};

export const MOMENT = [
  {
    name: 'urn.revision',
    in: 'query',
    description:
      'Show the study as it was at this revision. Also needs the scope `audit`. Cannot be combined with urn.at.',
    schema: { type: 'integer', minimum: 0 },
  },
  {
    name: 'urn.at',
    in: 'query',
    description:
      'Show the study as it was at this time: all events, in the order of their revisions, before the first one with a later time. The header Urn-Revision gives the revision. Also needs the scope `audit`. Cannot be combined with urn.revision.',
    schema: { type: 'string', format: 'date-time' },
    example: '2027-06-30T12:00:00Z',
  },
];

export const BG_STATE_PARAMETER = {
  name: 'urn.bg_state',
  in: 'query',
  description:
    '`omit` leaves the generator states out of the records. Without it, a key with the scope `audit` sees them. When they are omitted, nothing is disclosed and nothing counts against the budget of the key.',
  schema: { type: 'string', enum: ['omit'] },
};

export const EXCEL_PARAMETER = {
  name: 'urn.excel',
  in: 'query',
  description:
    'Only with `Accept: text/csv`. `true` puts an apostrophe before texts that a spreadsheet would take for formulas: those that begin with `=`, `+`, `-` or `@`. Every other program reads the apostrophes as part of the values.',
  schema: { type: 'string', enum: ['true'] },
};

export const DRY_RUN_PARAMETER = {
  name: 'urn.dry_run',
  in: 'query',
  description:
    '`true` checks everything and records nothing: nobody is randomized and nothing is drawn. The response has the header Urn-Dry-Run and shows only that the request would be accepted.',
  schema: { type: 'string', enum: ['true'] },
};

export function numberParameter(name: string, required: boolean, description: string, minimum = 0): Json {
  return { name, in: 'query', required, description, schema: { type: 'integer', minimum } };
}

/** The headers of a request that writes. */
export const WRITE_HEADERS = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes a retry safe: the same request with the same Idempotency-Key gets the same answer. Scoped to study and user.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
  {
    name: 'X-On-Behalf-Of',
    in: 'header',
    description:
      'The person who used a shared key. It is recorded with the event. It must be in NFC, have no invisible characters, and not begin with `=`, `+`, `-` or `@`, because a spreadsheet would take it for a formula. Beside the cookie of a session that names somebody, it may say only the same.',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
];

/** Of an answer that is JSON or a list, as `Accept` asks. */
export const VARY = {
  Vary: { description: 'What the response depends on besides the URL', schema: { const: 'Accept' } },
};

export const URN_NEXT = {
  'Urn-Next': {
    description: 'Where the next page begins. Absent if this is the last page.',
    schema: { type: 'integer' },
  },
};

// Schemas

/** A record of any study, for the documentation. study-view.ts makes the exact schema for each study. */
export const ParticipantRecord = z
  .object({
    ...recordMembers,
    trt: recordMembers.trt.optional(),
    bg_state: BgStateResult.optional(),
    'urn.sequence': placeMembers['urn.sequence'].optional(),
    'urn.revision': placeMembers['urn.revision'].optional(),
    ...remarkMembers,
  })
  .catchall(
    z.string().meta({
      description:
        'f_<factor>: the level of that factor, under its current name. Absent for participants who came after it was retired',
    }),
  );

/** The `results` of listing and of randomizing participants. */
export const RECORDS = { type: 'array', items: ref('ParticipantRecord') };

export const EXAMPLE_RECORD = {
  id: '001',
  f_sex: 'Male',
  f_local_site: '30-Dupage County',
  trt: 'RMC-Q',
  datetime: 'Wed, 10 Feb 2021 00:01:08 GMT',
  user: 'site-30',
};

/** The JSON schema of a result or a body, as the document has it. */
export function jsonSchema(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: described, path }) => {
      const { type } = zodSchema._zod.def;
      if (zodSchema === PackOfVisit && path.length > 0) replaceMembers(described, ref('PackOfVisit'));
      if (type === 'bigint') described.type = 'integer';
      if (zodSchema === BareUint128) {
        delete described.pattern;
        Object.assign(described, { type: 'integer', minimum: 0 });
      }
      if (type === 'map')
        Object.assign(described, {
          type: 'object',
          additionalProperties: valuesOf(zodSchema as z.ZodMap),
        });
    },
  });
  return rest;
}

function replaceMembers(described: Json, other: Json): void {
  for (const name of Object.keys(described)) delete described[name];
  Object.assign(described, other);
}

function valuesOf({ valueType }: z.ZodMap): Json {
  return jsonSchema(valueType as z.ZodType);
}
