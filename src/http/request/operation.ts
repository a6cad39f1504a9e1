/** Describes an operation of the API for the OpenAPI document. */
import { z } from 'zod';
import { BareUint128 } from './schemas.ts';

export type Json = Record<string, unknown>;

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

interface Operation {
  parameters: readonly Json[];
  result: Json;
  /** An example of `results`. */
  example?: unknown;
  /** `results` on an error. */
  empty: unknown;
  errors: Readonly<Record<number, string>>;
  /** Headers of a successful response, in addition to those of every operation. */
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
            description: 'The revision of the study that the response shows',
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
      message: { type: 'string', description: '`Success`, or an explanation of the error' },
      results,
      status: { type: 'integer', description: 'The HTTP status' },
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
