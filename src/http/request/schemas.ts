/** The shapes of the contract: results are checked against them before they leave, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { problemsOfId } from '../../study/participant-id.ts';

/** Decimal digits, which stand in the answer as a bare number: no number of JavaScript could hold them all. */
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
      "The generator's state after the draw, as numpy's bit_generator.state. Only for the scope audit.",
  });

export type BgStateResult = z.infer<typeof BgStateResult>;

/** Members of a participant record besides the `f_<factor>` ones. */
export const recordMembers = {
  id: z.string().meta({ description: 'Participant identifier as supplied by the caller' }),
  trt: z.string().meta({ description: 'Assigned treatment. Only for the scope read.' }),
  datetime: z
    .string()
    .meta({ description: 'Time of randomization (UTC)', examples: ['Wed, 10 Feb 2021 00:01:08 GMT'] }),
  user: z.string().meta({ description: 'User that owns the key used for the randomization' }),
  bg_state: BgStateResult,
};

/** Any study's record, for the documentation; study-view.ts makes the exact one of each study. */
export const ParticipantRecord = z
  .object({ ...recordMembers, trt: recordMembers.trt.optional(), bg_state: BgStateResult.optional() })
  .catchall(z.string().meta({ description: 'f_<factor>: the level given for that factor' }));

export const StudyConfigurationResult = z.strictObject({
  factors: z.map(z.string(), z.array(z.string())).meta({ description: 'Factor name to its allowed levels' }),
  treatments: z.array(z.string()),
  D: z.enum(['range', 'variance', 'chisquare']).meta({ description: 'Imbalance measure' }),
  alpha: z.int().meta({ description: 'Balls added for the assigned treatment' }),
  beta: z.int().meta({ description: 'Balls added for every other treatment' }),
  w: z.int().meta({ description: 'Balls per treatment at the start' }),
  starting_seed: z
    .bigint()
    .optional()
    .meta({ description: 'Only for the scope audit: it gives every assignment away' }),
  urn_selection: z.literal('method1'),
});

const Hash = z.base64().meta({ description: 'A SHA-256 hash' });
const Size = z
  .int()
  .positive()
  .meta({ description: 'Records in the tree: the revision of the last one, and one' });

export const CheckpointResult = z.strictObject({
  origin: z.string().meta({ description: '`<log name>/<stream>`' }),
  size: Size,
  root: Hash,
  checkpoint: z.string().meta({ description: 'The signed note (C2SP tlog-checkpoint); keep it as it is' }),
});

export const InclusionProofResult = z.strictObject({
  revision: z.int().nonnegative(),
  size: Size,
  leaf: Hash.meta({ description: 'SHA-256(0x00 ‖ record)' }),
  proof: z.array(Hash).meta({ description: 'RFC 6962 §2.1.1, from the leaf to the root' }),
});

export const ConsistencyProofResult = z.strictObject({
  first: Size,
  second: Size,
  proof: z.array(Hash).meta({ description: 'RFC 6962 §2.1.2' }),
});

export const RecordsResult = z.array(
  z.strictObject({
    revision: z.int().nonnegative(),
    record: z
      .string()
      .meta({ description: 'The record, canonical JSON: its UTF-8 bytes are what the leaf is of' }),
    sealed: z.string().meta({ description: 'Its sealed sections, canonical JSON' }),
    leaf: Hash.meta({ description: 'SHA-256(0x00 ‖ record), as it is stored' }),
  }),
);

/** JSON of a result, checked before it leaves. */
export function resultJson<T>(schema: z.ZodType<T>, result: T): string {
  return JSON.stringify(checked(schema, result));
}

const Counts = z
  .array(z.int())
  .meta({ description: 'Participants on each treatment, in the order of the treatments' });

/** Lists, since a reader of JSON may reorder members that are named like numbers. */
export const BalanceResult = z.strictObject({
  treatments: z.array(z.string()),
  totals: Counts,
  factors: z.array(
    z.strictObject({
      factor: z.string(),
      levels: z.array(z.strictObject({ level: z.string(), counts: Counts })),
    }),
  ),
});

/** Throws, without quoting it, when a result does not fit its schema: then a bug would send what must not be sent. */
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
      'Participant identifier: 1 to 128 characters. A new one is in NFC, without characters that nobody sees.',
  });
