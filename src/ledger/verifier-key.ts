/**
 * Public keys in the format of C2SP signed-note, and the parts of the format that secret keys share:
 *
 *   verifier key  <name>+<key id>+<base64(0x01 ‖ 32-byte public key)>
 *
 * The key id is the first four bytes, in lower-case hex, of SHA-256(<name> ‖ 0x0A ‖ 0x01 ‖ public key). 0x01 stands for
 * Ed25519, the only type supported here. Notes identify a key by its name and id.
 */
import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { DomainError } from '../base/errors.ts';
import { decodeBase64 } from './base64.ts';

const ED25519 = 0x01;
const KEY_BYTES = 32;
/** DER header of an Ed25519 public key (RFC 8410 §4); the 32-byte key follows. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
/** No Unicode space, no plus, and nothing that a note cannot hold: ASCII control characters and lone surrogates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse them
const KEY_NAME = /^[^\p{White_Space}\p{Surrogate}\u0000-\u001f+]+$/u;

export interface VerifierKey {
  readonly name: string;
  /** Eight lower-case hex digits. */
  readonly keyId: string;
  readonly publicKey: KeyObject;
  /** The verifier key as it is written. */
  readonly text: string;
}

export function isKeyName(text: string): boolean {
  return KEY_NAME.test(text);
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
  const typed = Buffer.concat([Buffer.of(ED25519), rawPublicKey]);
  const keyId = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed])).slice(0, 8);
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
  const [, name = '', encoded = ''] = /^([^+]+)\+[0-9a-f]{8}\+(.+)$/.exec(text) ?? [];
  const raw = decodeTypedKey(encoded);
  if (!isKeyName(name) || !raw)
    throw new DomainError(
      'identity',
      `${where} is not an Ed25519 verifier key (hint: it reads <name>+<8 hex digits>+<base64>, as publicKey in LogCreated)`,
    );
  const key = verifierKey(name, raw);
  if (key.text !== text)
    throw new DomainError(
      'identity',
      `${where} is damaged: its name, key id and key do not belong together (hint: get the verifier key anew)`,
    );
  return key;
}

/** base64(0x01 ‖ key), as in verifier keys and signer keys. */
export function encodeTypedKey(raw: Uint8Array): string {
  return Buffer.concat([Buffer.of(ED25519), raw]).toString('base64');
}

/** The 32 bytes after 0x01; undefined when the text is not the base64 of exactly 0x01 and 32 bytes. */
export function decodeTypedKey(encoded: string): Buffer | undefined {
  const bytes = decodeBase64(encoded);
  return bytes?.length === 1 + KEY_BYTES && bytes[0] === ED25519 ? bytes.subarray(1) : undefined;
}
