/**
 * The log itself: its creation, recoveries after restoring a backup, changes of the signing key, and moves to another store.
 * Stream `log`, which speaks for every stream.
 */
import { z } from 'zod';
import { defineEvent, type FactOf } from './define.ts';

const inTheClear = { sections: {}, optionalSections: {} } as const;

export const LogCreated = defineEvent('LogCreated', 1, {
  ...inTheClear,
  stream: 'log',
  data: z.strictObject({
    /** Of the whole log: how every record in it is written. */
    format: z.literal('urn-log@1'),
    logId: z.uuid(),
    /**
     * Also the name of the signing key, so it has no space and no `+` (C2SP signed-note). Short, because each receipt
     * holds it twice.
     */
    logName: z
      .string()
      .max(64)
      .regex(/^[^\s+\p{Cc}]+$/u),
    /** Ed25519 verifier key of C2SP signed-note: `name+hash+base64`. */
    publicKey: z.string().min(1),
  }),
});

/** The largest checkpoint of a stream known to have been signed before a recovery. */
export const SignedSize = z.strictObject({
  /** Number of the recovery after which it was signed; 0 if it was signed before any. */
  recovery: z.int().nonnegative(),
  /** In records, at least 1. */
  size: z.int().min(1),
  /** Base64 of the 32-byte Merkle root. */
  root: z.string().regex(/^[A-Za-z0-9+/]{43}=$/),
});
export type SignedSize = z.infer<typeof SignedSize>;

/** What a recovery says about one stream. The records between the two sizes are lost. */
export const RecoveredStream = z.strictObject({
  stream: z.string().min(1),
  /** Number of records that were there when the recovery was declared. */
  kept: z.int().nonnegative(),
  /** Absent: nothing is known to have been signed. */
  signed: SignedSize.optional(),
});
export type RecoveredStream = z.infer<typeof RecoveredStream>;

/**
 * The log was restored from a backup and lacks later records, or was moved to a store that was lost. Checkpoints from here
 * on have the origin `<log name>/<stream>/<recovery>`, because the same sizes have been signed before, for other records.
 */
export const LogRecovered = defineEvent('LogRecovered', 1, {
  stream: 'log',
  data: z.strictObject({
    /** Higher than the number of any earlier recovery, including those that were lost. */
    recovery: z.int().min(1),
    reason: z.string().min(1),
    /** `log` and all other streams that are not studies. */
    streams: z.array(RecoveredStream).min(1),
  }),
  /** Sealed, because a reader of one study need not know the sizes of the others. */
  sections: { studies: { streams: z.array(RecoveredStream) } },
  optionalSections: {},
});

/** A new key signs from here on. What earlier keys have signed stays verifiable. */
export const SigningKeyRotated = defineEvent('SigningKeyRotated', 1, {
  ...inTheClear,
  stream: 'log',
  data: z.strictObject({
    /** The new verifier key. */
    publicKey: z.string().min(1),
    /** Signed note in which the previous key names the new one (src/core/log/signing.ts). */
    endorsement: z.string().min(1),
    reason: z.string().min(1),
  }),
});

const MoveId = z.uuid();
/** Describes a store for people, without credentials. */
const Store = z.string().min(1);

/**
 * The log moves to another store, and nothing is recorded here any more, in any stream. The target holds the same record, and
 * the log continues there. Only LogArrived or LogRecovered may follow. The protocol is in docs/adr/0011-moving-a-log.md.
 */
export const LogMoved = defineEvent('LogMoved', 1, {
  ...inTheClear,
  stream: 'log',
  data: z.strictObject({ move: MoveId, to: Store, reason: z.string().min(1).optional() }),
});

/** In the target, directly after LogMoved: all records of the source are here, and the log continues. */
export const LogArrived = defineEvent('LogArrived', 1, {
  ...inTheClear,
  stream: 'log',
  data: z.strictObject({ move: MoveId, from: Store }),
});

export type LogFact =
  | FactOf<typeof LogCreated>
  | FactOf<typeof LogRecovered>
  | FactOf<typeof SigningKeyRotated>
  | FactOf<typeof LogMoved>
  | FactOf<typeof LogArrived>;
