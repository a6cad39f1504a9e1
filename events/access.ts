/** Who may ask what: API keys, issued and revoked. Stream `access`. A key itself is never stored, only its SHA-256. */
import { z } from 'zod';
import { defineEvent, type FactOf } from './define.ts';

/** None implies another. `blinded` reads without treatments, `read` with them, `audit` reveals generator states. */
export const Scope = z.enum(['blinded', 'read', 'randomize', 'audit']);
export type Scope = z.infer<typeof Scope>;

/** A limit to levels of one factor: any of `levels`. Several limits must all hold. */
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
    /** Names of the only studies the key may see; absent: all. */
    studies: z.array(z.string().min(1)).min(1).optional(),
    where: z.array(LevelLimit).min(1).optional(),
    /** The key is refused from this instant on. */
    expiresAt: z.iso.datetime({ precision: 3 }).optional(),
    /** Set when a key may both randomize and see generator states, and so predict: somebody decided that. */
    allowPrediction: z.literal(true).optional(),
  }),
  sections: { credential: { sha256: z.string().regex(/^[0-9a-f]{64}$/) } },
  optionalSections: {},
});

export const ApiKeyRevoked = defineEvent('ApiKeyRevoked', 1, {
  stream: 'access',
  data: z.strictObject({ keyId: z.string().min(1), reason: z.string().min(1).optional() }),
  sections: {},
  optionalSections: {},
});

export type AccessFact = FactOf<typeof ApiKeyIssued> | FactOf<typeof ApiKeyRevoked>;
