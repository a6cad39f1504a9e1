/** Who may do what: API keys, issued and revoked. Stream `access`. Only the SHA-256 of a key is stored. */
import { z } from 'zod';
import { defineEvent, type FactOf, Sha256 } from './define.ts';

/**
 * No scope implies another. `blinded` reads without treatments, `read` with them; `audit` reveals generator states;
 * `correct` corrects and voids what is recorded of participants; `force` enters allocations made outside, with their arms;
 * `unblind` breaks the code of one participant; `supply` reads which treatment packs hold, and replaces and withdraws them;
 * `manage` opens and closes a study.
 */
export const Scope = z.enum([
  'blinded',
  'read',
  'randomize',
  'audit',
  'correct',
  'force',
  'unblind',
  'supply',
  'manage',
]);
export type Scope = z.infer<typeof Scope>;

/** Limits a key to the given levels of one factor. If there are several limits, all must hold. */
export const LevelLimit = z.strictObject({
  factor: z.string().min(1),
  levels: z.array(z.string().min(1)).min(1),
});
export type LevelLimit = z.infer<typeof LevelLimit>;

export const ApiKeyIssued = defineEvent('ApiKeyIssued', 1, {
  stream: 'access',
  data: z.strictObject({
    keyId: z.string().min(1),
    user: z.string().min(1),
    scopes: z.array(Scope).min(1),
    /** Names of the studies that the key is limited to. Absent: all studies. */
    studies: z.array(z.string().min(1)).min(1).optional(),
    where: z.array(LevelLimit).min(1).optional(),
    /** The key is refused from this instant on. */
    expiresAt: z.iso.datetime({ precision: 3 }).optional(),
    /**
     * Set when somebody chose to let a key see generator states and also randomize, correct, enter allocations or manage, so
     * that it can act on what it predicts; or randomize and also enter allocations, so that it can choose the arm.
     */
    allowPrediction: z.literal(true).optional(),
  }),
  sections: { credential: { sha256: Sha256 } },
  optionalSections: {},
});

export const ApiKeyRevoked = defineEvent('ApiKeyRevoked', 1, {
  stream: 'access',
  data: z.strictObject({ keyId: z.string().min(1), reason: z.string().min(1).optional() }),
  sections: {},
  optionalSections: {},
});

export type AccessFact = FactOf<typeof ApiKeyIssued> | FactOf<typeof ApiKeyRevoked>;
