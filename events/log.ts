/** The log's own life: begun, recovered when a backup had to be restored, signed by another key. Stream `log`. */
import { z } from 'zod';
import { defineEvent, type FactOf } from './define.ts';

export const LogCreated = defineEvent('LogCreated', 1, {
  stream: 'log',
  data: z.strictObject({
    logId: z.uuid(),
    /** Also the name of the signing key, so it holds no space and no `+` (C2SP signed-note). Short: each receipt holds it twice. */
    logName: z
      .string()
      .max(64)
      .regex(/^[^\s+\p{Cc}]+$/u),
    /** Ed25519 verifier key of C2SP signed-note: `name+hash+base64`. */
    publicKey: z.string().min(1),
  }),
  sections: {},
  optionalSections: {},
});

/** The largest checkpoint of a stream that is known to have been signed before a recovery. */
export const SignedSize = z.strictObject({
  /** Number of the recovery after which it was signed; 0: before any. */
  recovery: z.int().nonnegative(),
  /** In records, at least 1. */
  size: z.int().min(1),
  /** Base64 of the 32-byte Merkle root. */
  root: z.string().regex(/^[A-Za-z0-9+/]{43}=$/),
});
export type SignedSize = z.infer<typeof SignedSize>;

/** What a recovery says of one stream. What lies between the two sizes is lost. */
export const RecoveredStream = z.strictObject({
  stream: z.string().min(1),
  /** Records that were there when the recovery was declared. */
  kept: z.int().nonnegative(),
  /** Absent: nothing is known to have been signed. */
  signed: SignedSize.optional(),
});
export type RecoveredStream = z.infer<typeof RecoveredStream>;

/**
 * The log was restored from a backup that lacks what came after it. Checkpoints from here on have the origin
 * `<log name>/<stream>/<recovery>`: the same sizes were signed before, of other records.
 */
export const LogRecovered = defineEvent('LogRecovered', 1, {
  stream: 'log',
  data: z.strictObject({
    /** Above the numbers of all earlier recoveries, those included that were lost themselves. */
    recovery: z.int().min(1),
    reason: z.string().min(1),
    /** `log`, and the others that are not a study's. */
    streams: z.array(RecoveredStream).min(1),
  }),
  /** Sealed, because whoever reads of one study need not know how large the others are. */
  sections: { studies: { streams: z.array(RecoveredStream) } },
  optionalSections: {},
});

/** Another key signs from here on. What the keys before it have signed stays verifiable. */
export const SigningKeyRotated = defineEvent('SigningKeyRotated', 1, {
  stream: 'log',
  data: z.strictObject({
    /** Verifier key of the new one. */
    publicKey: z.string().min(1),
    /** Signed note in which the key before it names the new one (src/ledger/endorsement.ts). */
    endorsement: z.string().min(1),
    reason: z.string().min(1),
  }),
  sections: {},
  optionalSections: {},
});

export type LogFact =
  | FactOf<typeof LogCreated>
  | FactOf<typeof LogRecovered>
  | FactOf<typeof SigningKeyRotated>;
