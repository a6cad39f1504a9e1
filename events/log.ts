/** The log's own identity. Stream `log`, of which this is always the first event. */
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

export type LogFact = FactOf<typeof LogCreated>;
