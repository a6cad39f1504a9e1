/** What the operations of the OpenAPI document have in common. */
import { z } from 'zod';
import { BareUint128, ParticipantId } from './request/schemas.ts';

export type Json = Record<string, unknown>;

export const study = {
  name: 'study',
  in: 'query',
  required: true,
  description: "The study's name",
  schema: { type: 'string' },
};

/** A factor's name never begins with `urn.`. */
export const MIN_REVISION = {
  name: 'urn.min_revision',
  in: 'query',
  description:
    'Wait until this instance shows at least this revision of the study (the Urn-Revision of an answer of another instance): at most 5 seconds, then 503.',
  schema: { type: 'integer', minimum: 0 },
};
export const MOMENT = [
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

export const PAGE = [
  {
    name: 'urn.limit',
    in: 'query',
    description: 'At most so many participants. The header Urn-Next says where the next page begins.',
    schema: { type: 'integer', minimum: 1, maximum: 1000 },
  },
  {
    name: 'urn.from',
    in: 'query',
    description:
      'Only participants randomized at this revision or later. Pages that are to agree while the study grows all name the same urn.revision.',
    schema: { type: 'integer', minimum: 0 },
  },
];
export const BG_STATE = {
  name: 'urn.bg_state',
  in: 'query',
  description:
    '`omit` leaves the generator states out of the records, which a key with the scope `audit` is shown otherwise. Then nothing is disclosed, and nothing counts against the budget of the key.',
  schema: { type: 'string', enum: ['omit'] },
};
export const URN_NEXT = {
  'Urn-Next': {
    description: 'Where the next page begins; absent when there is none',
    schema: { type: 'integer' },
  },
};

export const BAD_REQUEST =
  'Malformed, a parameter is missing or unknown, or a level is invalid; the message names every problem.';
export const READ_ERRORS = {
  401: 'The API key is missing or not valid',
  403: 'The key lacks the scope, or is limited to other levels',
  404: 'No such study, or not one of the key',
  429: 'Too many failed attempts from this address (which never keeps a valid key out), or the key asks for more than it may have at a time or in an hour; try again after Retry-After',
  503: 'Starting, overloaded, or the log has no room or does not answer; try again after Retry-After',
};

export function idParameter(required: boolean): Json {
  return { name: 'id', in: 'query', required, schema: jsonSchema(ParticipantId) };
}

export function numberParameter(name: string, required: boolean, description: string, minimum = 0): Json {
  return { name, in: 'query', required, description, schema: { type: 'integer', minimum } };
}

export interface Operation {
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

export function operation(
  summary: string,
  operationId: string,
  scopes: readonly string[],
  parts: Operation,
): Json {
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

export function envelopeOf(results: Json): Json {
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

export function response(description: string, schema: Json, example: Json | undefined): Json {
  const content = { schema, ...(example && { example }) };
  return { description, content: { 'application/json': content } };
}

export function ref(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

export function jsonSchema(schema: z.ZodType): Json {
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
