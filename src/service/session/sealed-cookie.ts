/**
 * The value of the cookie: a session, encrypted and authenticated (JWE, compact: `dir` with A256GCM). The id of the log
 * is part of what is authenticated, so a cookie of one log is not valid for another, even under the same key.
 */
import { CompactEncrypt, compactDecrypt } from 'jose';
import { z } from 'zod';
import type { Session } from './session.ts';

const ALGORITHM = 'dir';
const ENCRYPTION = 'A256GCM';
/** Longer than any cookie made here. */
const LONGEST = 2048;

const Instant = z.int().nonnegative();
const Contents = z.strictObject({
  sessionId: z.string().min(1),
  keyId: z.string().min(1),
  onBehalfOf: z.string().optional(),
  beganAt: Instant,
  usedAt: Instant,
});

export function seal(session: Session, key: Uint8Array, logId: string): Promise<string> {
  return new CompactEncrypt(Buffer.from(JSON.stringify(session)))
    .setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION, log: logId })
    .encrypt(key);
}

/** @returns the session, or undefined if none of the keys sealed this cookie for this log */
export async function unseal(
  cookie: string,
  keys: readonly Uint8Array[],
  logId: string,
): Promise<Session | undefined> {
  if (cookie.length > LONGEST) return undefined;
  for (const key of keys) {
    const opened = await compactDecrypt(cookie, key, {
      keyManagementAlgorithms: [ALGORITHM],
      contentEncryptionAlgorithms: [ENCRYPTION],
    }).catch(() => undefined);
    if (opened?.protectedHeader['log'] === logId)
      return Contents.safeParse(JSON.parse(Buffer.from(opened.plaintext).toString('utf8'))).data;
  }
  return undefined;
}
