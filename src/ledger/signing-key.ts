/**
 * The log's Ed25519 key pair, in the key formats of C2SP signed-note:
 *
 *   verifier key  <name>+<hash>+<base64(0x01 ‖ 32-byte public key)>
 *   signer key    PRIVATE+KEY+<name>+<hash>+<base64(0x01 ‖ 32-byte private key)>
 *
 * <hash> is the key id: the first four bytes, in hex, of SHA-256(<name> ‖ 0x0A ‖ 0x01 ‖ public key); 0x01 stands for
 * Ed25519. The name is the log's name.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createOnce } from '../create-once.ts';
import { DomainError } from '../errors.ts';

const ED25519 = 0x01;
/** DER header of a PKCS #8 Ed25519 private key (RFC 8410 §7); the 32-byte key follows. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

export interface SigningKey {
  readonly name: string;
  readonly privateKey: KeyObject;
  /** The verifier key. */
  readonly publicKey: string;
  /** The signer key: secret. */
  readonly secret: string;
}

export function makeSigningKey(name: string): SigningKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  return signingKey(name, privateKey);
}

/** @throws DomainError `identity` when the text is no signer key, or its parts do not belong together */
export function parseSigningKey(text: string, where: string): SigningKey {
  const match = /^PRIVATE\+KEY\+([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)\s*$/.exec(text);
  const bytes = Buffer.from(match?.[3] ?? '', 'base64');
  if (!match?.[1] || bytes.length !== 33 || bytes[0] !== ED25519)
    throw new DomainError('identity', `${where} holds no signing key (hint: restore it from a backup)`);
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, bytes.subarray(1)]),
    format: 'der',
    type: 'pkcs8',
  });
  const key = signingKey(match[1], privateKey);
  if (key.secret !== text.trim())
    throw new DomainError(
      'identity',
      `${where} is damaged: its parts do not belong together (hint: restore it from a backup)`,
    );
  return key;
}

/** The key in a file; the file is made first, with a new key, unless it exists. */
export function loadOrMakeSigningKey(file: string, name: string): SigningKey {
  createOnce(file, (draft) => writeFileSync(draft, `${makeSigningKey(name).secret}\n`));
  return loadSigningKey(file);
}

/** @throws DomainError `identity` when there is no such file, or no key in it */
export function loadSigningKey(file: string): SigningKey {
  if (!existsSync(file))
    throw new DomainError(
      'identity',
      `the log's signing key ${file} is missing (hint: restore it from a backup of the data folder)`,
    );
  return parseSigningKey(readFileSync(file, 'utf8'), file);
}

function signingKey(name: string, privateKey: KeyObject): SigningKey {
  const publicBytes = rawKey(createPublicKey(privateKey).export({ format: 'jwk' }).x);
  const privateBytes = rawKey(privateKey.export({ format: 'jwk' }).d);
  const typed = Buffer.concat([Buffer.of(ED25519), publicBytes]);
  const keyId = createHash('sha256').update(`${name}\n`).update(typed).digest('hex').slice(0, 8);
  const secretBytes = Buffer.concat([Buffer.of(ED25519), privateBytes]);
  return {
    name,
    privateKey,
    publicKey: `${name}+${keyId}+${typed.toString('base64')}`,
    secret: `PRIVATE+KEY+${name}+${keyId}+${secretBytes.toString('base64')}`,
  };
}

function rawKey(base64url: string | undefined): Buffer {
  return Buffer.from(base64url ?? '', 'base64url');
}
