/** Schemas that several routes share. Results are checked against them, and the OpenAPI document is generated from them. */
import { z } from 'zod';
import { problemsOfId } from '../../study/participant-id.ts';

/** Decimal digits that the answer shows as a bare number. JavaScript numbers are too small to hold it. */
export const BareUint128 = z.string().regex(/^(?:0|[1-9]\d{0,38})$/);

export const BgStateResult = z
  .strictObject({
    bit_generator: z.literal('PCG64'),
    has_uint32: z.union([z.literal(0), z.literal(1)]),
    state: z.strictObject({ inc: BareUint128, state: BareUint128 }),
    uinteger: z.int(),
  })
  .meta({
    description:
      "The generator's state after the draw, in the form of numpy's bit_generator.state. Only shown to a key with the scope `audit`.",
  });

export type BgStateResult = z.infer<typeof BgStateResult>;

/** Members of a participant record, without the `f_<factor>` ones. */
export const recordMembers = {
  id: z.string().meta({ description: 'The participant identifier, as given in the request' }),
  trt: z.string().meta({ description: 'The assigned treatment. Only shown to a key with the scope `read`.' }),
  datetime: z
    .string()
    .meta({ description: 'Time of randomization (UTC)', examples: ['Wed, 10 Feb 2021 00:01:08 GMT'] }),
  user: z.string().meta({ description: 'The user of the key that was used for the randomization' }),
  bg_state: BgStateResult,
};

/** JSON of a result, checked against its schema. */
export function resultJson<T>(schema: z.ZodType<T>, result: T): string {
  return JSON.stringify(checked(schema, result));
}

/** Throws when a result does not match its schema, so that a bug cannot leak anything. The error does not quote the result. */
export function checked<T>(schema: z.ZodType<T>, result: unknown): T {
  const parsed = schema.safeParse(result);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map(({ path, code }) => `${path.join('.')}: ${code}`);
  throw new Error(`a result does not fit the contract (${paths.join(', ')})`);
}

/** 1 to 128 code points, no control characters, no leading or trailing white space. */
export const ParticipantId = z
  .string({ error: () => 'id is missing' })
  .superRefine((id, context) => {
    for (const message of problemsOfId(id)) context.addIssue({ code: 'custom', message });
  })
  .meta({
    description:
      'The participant identifier, 1 to 128 characters. A new one must be in NFC and have no invisible characters.',
  });
