/**
 * The log's Ed25519 key pair: a verifier key (verifier-key.ts), and the signer key as Go's golang.org/x/mod/sumdb/note
 * writes it:
 *
 *   signer key  PRIVATE+KEY+<name>+<key id>+<base64(0x01 ‖ 32-byte private key)>
 *
 * The name is the log's name. The key id is the same as the verifier key's.
 */
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { DomainError } from '../../base/errors.ts';
import { decodeTypedKey, isKeyName } from './key-text.ts';
import { encodeTypedKey, verifierKey } from './verifier-key.ts';

/** DER header of a PKCS #8 Ed25519 private key (RFC 8410 §7); the 32-byte key follows. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const PRIVATE_KEY_BYTES = 32;

export interface SigningKey {
  readonly name: string;
  /** Eight lower-case hex digits. */
  readonly keyId: string;
  readonly privateKey: KeyObject;
  /** The verifier key. */
  readonly publicKey: string;
  /** The signer key: secret. */
  readonly secret: string;
}

/** @throws DomainError `identity` when the name is not valid for a key */
export function makeSigningKey(name: string): SigningKey {
  // An Ed25519 private key is 32 random bytes (RFC 8032 §5.1.5). Not generateKeyPairSync: in Node 20 its job locks the key when
  // it is garbage collected, and if that happens while the key is being exported, the process hangs for good.
  return signingKey(name, privateKeyOf(randomBytes(PRIVATE_KEY_BYTES)));
}

/** @throws DomainError `identity` when the text is not a signer key, or its parts do not belong together */
export function parseSigningKey(text: string, where: string): SigningKey {
  const [, name = '', encoded = ''] = /^PRIVATE\+KEY\+([^+]+)\+[0-9a-f]{8}\+(\S+)\s*$/.exec(text) ?? [];
  const raw = decodeTypedKey(encoded);
  if (!isKeyName(name) || !raw)
    throw new DomainError('identity', `${where} holds no signing key (hint: restore it from a backup)`);
  const key = signingKey(name, privateKeyOf(Buffer.from(raw)));
  if (key.secret !== text.trim())
    throw new DomainError(
      'identity',
      `${where} is damaged: its parts do not belong together (hint: restore it from a backup)`,
    );
  return key;
}

/** @throws DomainError `identity` when the file does not exist or holds no key */
export function loadSigningKey(file: string): SigningKey {
  if (!existsSync(file))
    throw new DomainError(
      'identity',
      `the log's signing key ${file} is missing (hint: each instance of a log needs the same one, see --signing-key; if it is lost, restore it from a backup of the data folder)`,
    );
  return parseSigningKey(readFileSync(file, 'utf8'), file);
}

function privateKeyOf(raw: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, raw]), format: 'der', type: 'pkcs8' });
}

function signingKey(name: string, privateKey: KeyObject): SigningKey {
  const { keyId, text } = verifierKey(name, rawKey(createPublicKey(privateKey).export({ format: 'jwk' }).x));
  const secret = encodeTypedKey(rawKey(privateKey.export({ format: 'jwk' }).d));
  return { name, keyId, privateKey, publicKey: text, secret: `PRIVATE+KEY+${name}+${keyId}+${secret}` };
}

function rawKey(base64url: string | undefined): Buffer {
  return Buffer.from(base64url ?? '', 'base64url');
}
