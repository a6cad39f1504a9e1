/** Public keys that Node checks signatures with. Their format is in key-text.ts. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { sha256 } from '../../../events/record.ts';
import { DomainError } from '../../base/errors.ts';
import { hashedForKeyId, isKeyName, keyIdIn, keyParts, typedKey } from './key-text.ts';

/** DER header of an Ed25519 public key (RFC 8410 §4); the 32-byte key follows. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
export interface VerifierKey {
  readonly name: string;
  /** Eight lower-case hex digits. */
  readonly keyId: string;
  readonly publicKey: KeyObject;
  /** The verifier key as it is written. */
  readonly text: string;
}

/**
 * @param rawPublicKey 32 bytes
 * @throws DomainError `identity` when the name is not valid for a key
 */
export function verifierKey(name: string, rawPublicKey: Uint8Array): VerifierKey {
  if (!isKeyName(name))
    throw new DomainError(
      'identity',
      'this cannot name a key: a name has no white space, no control characters and no "+"',
    );
  const keyId = keyIdIn(sha256(hashedForKeyId(name, rawPublicKey)));
  const publicKey = createPublicKey({
    key: Buffer.concat([SPKI_PREFIX, rawPublicKey]),
    format: 'der',
    type: 'spki',
  });
  return { name, keyId, publicKey, text: `${name}+${keyId}+${encodeTypedKey(rawPublicKey)}` };
}

/**
 * @param text exactly the verifier key, without a line break
 * @param where how messages refer to the text, which they never quote because it may be a secret given by mistake
 * @throws DomainError `identity` when the text is not an Ed25519 verifier key, or its parts do not belong together
 */
export function parseVerifierKey(text: string, where: string): VerifierKey {
  const parts = keyParts(text);
  if (!parts)
    throw new DomainError(
      'identity',
      `${where} is not an Ed25519 verifier key (hint: it reads <name>+<8 hex digits>+<base64>, as publicKey in LogCreated)`,
    );
  const key = verifierKey(parts.name, parts.raw);
  if (key.text !== text)
    throw new DomainError(
      'identity',
      `${where} is damaged: its name, key id and key do not belong together (hint: get the verifier key anew)`,
    );
  return key;
}

/** base64(0x01 ‖ key), as in verifier keys and signer keys. */
export function encodeTypedKey(raw: Uint8Array): string {
  return Buffer.from(typedKey(raw)).toString('base64');
}
