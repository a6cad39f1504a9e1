/**
 * Rotates the signing key. The new key is saved beside the old one before the log names it, and replaces it afterwards.
 * Whenever it crashes, the key that the log names exists.
 */
import type { Actor } from '../../../events/record.ts';
import { DomainError } from '../../base/errors.ts';
import { endorse } from '../ledger/endorsement.ts';
import type { LogIdentity } from '../ledger/identity.ts';
import type { Keyring } from '../ledger/keyring.ts';
import type { LogWriter } from './log-writer.ts';

/**
 * @returns the new verifier key
 * @throws DomainError `identity` when somebody else rotated the key in the meantime
 */
export async function rotateSigningKey(
  writer: LogWriter,
  identity: LogIdentity,
  keys: Keyring,
  reason: string,
  actor: Actor,
): Promise<string> {
  const { logId, logName, signingKey } = identity;
  const next = keys.loadOrMakeNext(logName);
  const endorsement = endorse({ logId, logName, publicKey: next.publicKey }, signingKey);
  const { publicKey: from } = signingKey;
  const { outcome } = await writer.submit(
    { type: 'rotate', reason, from, to: next.publicKey, endorsement },
    actor,
  );
  if (outcome.type === 'overtaken')
    throw new DomainError(
      'identity',
      'the signing key was rotated by somebody else just now (hint: urn signing-key show)',
    );
  // Replaces the old key with this one only: another process may have begun the next rotation already.
  keys.load(next.publicKey);
  return next.publicKey;
}
