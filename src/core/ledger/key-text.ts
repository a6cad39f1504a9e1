/**
 * Public keys in the format of C2SP signed-note, and the parts of the format that secret keys share:
 *
 *   verifier key  <name>+<key id>+<base64(0x01 ‖ 32-byte public key)>
 *
 * The key id is the first four bytes, in lower-case hex, of SHA-256(<name> ‖ 0x0A ‖ 0x01 ‖ public key). 0x01 stands for
 * Ed25519, the only type supported here. Notes identify a key by its name and id.
 */
import { decodeBase64 } from './base64.ts';

const ED25519 = 0x01;
const KEY_BYTES = 32;
/** No Unicode space, no plus, and nothing that a note cannot hold: ASCII control characters and lone surrogates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse them
const KEY_NAME = /^[^\p{White_Space}\p{Surrogate}\u0000-\u001f+]+$/u;

/** The parts of a verifier key, which may not belong together. */
export interface KeyParts {
  readonly name: string;
  /** Eight lower-case hex digits. */
  readonly keyId: string;
  /** 32 bytes. */
  readonly raw: Uint8Array;
}

export function isKeyName(text: string): boolean {
  return KEY_NAME.test(text);
}

/** The parts of a text in the format of a verifier key; undefined for any other text. */
export function keyParts(text: string): KeyParts | undefined {
  const [, name = '', keyId = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? [];
  const raw = decodeTypedKey(encoded);
  return isKeyName(name) && raw ? { name, keyId, raw } : undefined;
}

/** What the key id is the beginning of the hash of. */
export function hashedForKeyId(name: string, raw: Uint8Array): Uint8Array {
  return Uint8Array.of(...new TextEncoder().encode(`${name}\n`), ED25519, ...raw);
}

/** The first four bytes in lower-case hex. */
export function keyIdIn(bytes: Uint8Array): string {
  return Array.from(bytes.subarray(0, 4), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** 0x01 ‖ key, as in verifier keys and signer keys. */
export function typedKey(raw: Uint8Array): Uint8Array {
  return Uint8Array.of(ED25519, ...raw);
}

/** The 32 bytes after 0x01; undefined when the text is not the base64 of exactly 0x01 and 32 bytes. */
export function decodeTypedKey(encoded: string): Uint8Array | undefined {
  const bytes = decodeBase64(encoded);
  return bytes?.length === 1 + KEY_BYTES && bytes[0] === ED25519 ? bytes.subarray(1) : undefined;
}
