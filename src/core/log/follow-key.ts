/** Follows rotations of the signing key by other processes. */
import { logHistory } from '../../../projections/log.ts';
import type { Runner } from '../../../projections/runner.ts';
import type { DomainError } from '../../base/errors.ts';
import { type LogIdentity, presentKey } from '../ledger/identity.ts';
import type { Keyring } from '../ledger/keyring.ts';
import { LOG_STREAM } from './log-writer.ts';

/** How long until a missing key is looked for again, in ms. */
const RETRY_MS = 500;

export interface FollowedKey {
  /** Why this process does not have the current key; undefined when it has. */
  missing(): DomainError | undefined;
  stop(): void;
}

/**
 * @param runner must have folded `log`
 * @param onLost called once each time the key goes missing
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
      // This also covers two rotations in a row, where the first key was gone before this process heard of it.
      missing = undefined;
    } catch (error) {
      if (!missing) onLost(error as DomainError);
      missing = error as DomainError;
      // An instance with its own key file gets the new key by hand.
      retry = setTimeout(follow, RETRY_MS).unref();
    }
  };
  // The key may be missing, or have been rotated since the identity was read.
  const { publicKeys } = runner.state(logHistory, LOG_STREAM);
  if (!identity.hasSigningKey || publicKeys.length > identity.publicKeys.length) follow();
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
