/** Follows the rotations of the signing key that other processes make. */
import { logHistory } from '../../projections/log.ts';
import type { Runner } from '../../projections/runner.ts';
import type { DomainError } from '../base/errors.ts';
import { type LogIdentity, presentKey } from '../ledger/identity.ts';
import type { Keyring } from '../ledger/keyring.ts';
import { LOG_STREAM } from './log-writer.ts';

/** How often a key that is missing is looked for again, in ms. */
const RETRY_MS = 500;

export interface FollowedKey {
  /** Why the key that signs now is not here, if so. */
  missing(): DomainError | undefined;
  stop(): void;
}

/**
 * @param runner with `log` folded
 * @param onLost is told once, each time that the key is lost
 */
export function followSigningKey(
  runner: Runner,
  identity: LogIdentity,
  keyring: Keyring,
  onLost: (error: DomainError) => void = () => undefined,
): FollowedKey {
  let missing: DomainError | undefined;
  let retry: NodeJS.Timeout | undefined;
  const follow = () => {
    clearTimeout(retry);
    const { publicKeys } = runner.state(logHistory, LOG_STREAM);
    try {
      identity.rotateTo(presentKey(keyring, publicKeys), publicKeys);
      // Of two rotations in a row, the key of the first was gone before this process heard of it.
      missing = undefined;
    } catch (error) {
      if (!missing) onLost(error as DomainError);
      missing = error as DomainError;
      // An instance that keeps the key in a file of its own is brought it by hand.
      retry = setTimeout(follow, RETRY_MS).unref();
    }
  };
  // Rotated since the identity was read.
  if (runner.state(logHistory, LOG_STREAM).publicKeys.length > identity.publicKeys.length) follow();
  const stopListening = runner.listen(LOG_STREAM, ({ type }) => {
    if (type === 'SigningKeyRotated') follow();
  });
  return {
    missing: () => missing,
    stop: () => {
      stopListening();
      clearTimeout(retry);
    },
  };
}
