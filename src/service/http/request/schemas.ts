/** Schemas that several routes share. Results are checked against them, and the OpenAPI document is generated from them. */
import { z } from 'zod';
import { VoidCause } from '../../../../events/corrections.ts';

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
  id: z.string().meta({ description: 'The participant identifier' }),
  trt: z.string().meta({ description: 'The assigned treatment. Only shown to a key with the scope `read`.' }),
  datetime: z
    .string()
    .meta({ description: 'Time of randomization (UTC)', examples: ['Wed, 10 Feb 2021 00:01:08 GMT'] }),
  user: z.string().meta({ description: 'The user of the key that was used for the randomization' }),
  bg_state: BgStateResult,
};

/** Members of a record in a list that was asked for with `urn.view`. */
export const placeMembers = {
  'urn.sequence': z
    .int()
    .meta({ description: '1, 2, … in the order of randomization. Only with the parameter `urn.view`' }),
  'urn.revision': z.int().meta({
    description:
      'The revision of the event that enrolled the participant. Only with the parameter `urn.view`',
  }),
};

/** A component of its own in the document (operation.ts). */
export const PackOfVisit = z.strictObject({
  visit: z.string(),
  code: z.string().meta({ description: 'The pack that the participant has for the visit' }),
  datetime: z.string().meta({
    description:
      'When a pack was first given out for the visit (UTC), in the format of the `datetime` of the record. Neither a replacement nor a correction changes it',
    examples: ['Wed, 10 Mar 2021 09:30:00 GMT'],
  }),
});

/** Members that a record has only if they say something. */
export const remarkMembers = {
  'urn.code': z
    .string()
    .optional()
    .meta({ description: 'The pack that the participant has; not one of a visit' }),
  'urn.packs': z.array(PackOfVisit).optional().meta({
    description:
      'The packs of visits that the participant has, in the order in which they were given out. Absent if there are none',
  }),
  'urn.occurred_at': z.string().optional().meta({
    description:
      'When the allocation was made, if it was made outside the service and entered by hand (ISO 8601, UTC)',
  }),
  'urn.as_randomized': z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: 'The levels (`f_<factor>`) as randomized, if levels were corrected since' }),
  'urn.id_as_randomized': z
    .string()
    .optional()
    .meta({ description: 'The id as randomized, if it was corrected since' }),
  'urn.voided': VoidCause.optional().meta({
    description: 'Why the participant was voided: they were randomized in error',
  }),
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

/** Besides `enrolled`, which counts everybody in the list. */
export const HEADS = {
  voided: z.int().meta({ description: 'How many of them are voided' }),
  filled: z.int().meta({
    description:
      'How many of them fill a place of the target and of the limits: all but those voided as duplicates or as never enrolled',
  }),
};

export const GoalResult = z
  .strictObject({
    kind: z.enum(['target', 'limit']).meta({ description: '`limit`: there are no more places' }),
    places: z.int(),
  })
  .meta({
    description:
      'What `filled` is measured against: the target of the study, or if it has none its limit. For a key that is limited to levels of one factor, the limits of these levels together. Absent if nobody has said how many there may be',
  });
