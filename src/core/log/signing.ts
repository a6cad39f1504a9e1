/**
 * What the log's Ed25519 key signs (RFC 8032), and how signatures are checked: checkpoints of its streams, the notes that hold
 * them, and the key's own successor. Below these, the keys themselves. The formats are those of C2SP; how they are read, before
 * any signature is checked, is in formats.ts, which also runs in browsers.
 */
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { sha256 } from '../../../events/record.ts';
import { DomainError } from '../../base/errors.ts';
import {
  type Checkpoint,
  decodeTypedKey,
  type Hash,
  hashedForKeyId,
  isHash,
  isKeyName,
  keyIdIn,
  keyParts,
  type Malformed,
  NOT_IN_NOTES,
  type NoteSignature,
  parseCheckpoint,
  parseNote,
  typedKey,
} from './formats.ts';

// Checkpoints

/**
 * @param recovery number of the log's last recovery; 0 if there was none
 * @throws RangeError when `recovery` is not a count
 */
export function checkpointOrigin(logName: string, stream: string, recovery = 0): string {
  if (!Number.isSafeInteger(recovery) || recovery < 0)
    throw new RangeError(`there is no recovery ${recovery}`);
  return recovery === 0 ? `${logName}/${stream}` : `${logName}/${stream}/${recovery}`;
}

/**
 * A signed note saying that the tree of `origin` has `size` leaves and this root. Sign only what the store has
 * acknowledged, never anything whose outcome is still open.
 *
 * @throws RangeError when the parts do not make a valid checkpoint
 */
export function signCheckpoint(origin: string, size: number, root: Hash, key: SigningKey): string {
  return signNote(formatCheckpoint(origin, size, root), key);
}

/** @throws RangeError when the parts do not make a valid checkpoint */
export function formatCheckpoint(origin: string, size: number, root: Hash): string {
  if (origin === '' || origin.includes('\n')) throw new RangeError('an origin is one line');
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`no tree has ${size} leaves`);
  if (!isHash(root)) throw new RangeError(`a root has 32 bytes, not ${root.length}`);
  return `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;
}

type CheckpointCheck =
  | { readonly type: 'signed'; readonly checkpoint: Checkpoint; readonly by: readonly VerifierKey[] }
  | Exclude<NoteCheck, { type: 'signed' }>;

/**
 * Checks who signed a checkpoint, and reads it.
 *
 * One key signs all streams of a log, so the caller must compare the origin with that of the stream in question: a
 * checkpoint of another stream has a valid signature too.
 *
 * @param trusted keys from outside; a key that comes with the checkpoint proves nothing
 */
export function openCheckpoint(note: string | Uint8Array, trusted: readonly VerifierKey[]): CheckpointCheck {
  const checked = checkNote(note, trusted);
  if (checked.type !== 'signed') return checked;
  const checkpoint = parseCheckpoint(checked.text);
  return checkpoint.type === 'malformed' ? checkpoint : { type: 'signed', checkpoint, by: checked.by };
}

// Notes

/**
 * Signs a text.
 * @returns the note
 * @throws RangeError when a note cannot hold the text
 */
export function signNote(text: string, { name, keyId, privateKey }: SigningKey): string {
  return formatNote(text, [{ name, keyId, signature: sign(null, Buffer.from(text), privateKey) }]);
}

/**
 * Nothing is read back: the names and ids of keys were checked when the keys were made or read.
 * @throws RangeError when a note cannot hold the text
 */
export function formatNote(text: string, signatures: readonly NoteSignature[]): string {
  if (!text.endsWith('\n')) throw new RangeError('not a note: the text does not end with a line break');
  if (NOT_IN_NOTES.test(text))
    throw new RangeError(
      'not a note: it has a control character other than line breaks, or half a character',
    );
  const lines = signatures.map(({ name, keyId, signature }) => {
    const encoded = Buffer.concat([Buffer.from(keyId, 'hex'), signature]).toString('base64');
    return `— ${name} ${encoded}\n`;
  });
  return `${text}\n${lines.join('')}`;
}

/** Signatures of unknown keys are kept but not checked. */
type NoteCheck =
  /** At least one trusted key has signed, and no trusted key's signature is wrong. */
  | { readonly type: 'signed'; readonly text: string; readonly by: readonly VerifierKey[] }
  /** There are signatures, but only by unknown keys. */
  | { readonly type: 'not-signed' }
  /** A line has the name and the id of a trusted key, but that key did not sign this text. */
  | { readonly type: 'bad-signature'; readonly name: string; readonly keyId: string }
  | Malformed;

/**
 * Reads a note and checks the signatures of the trusted keys. Lines of other keys are ignored, even if they share either
 * the name or the id with a trusted key. A single wrong signature of a trusted key invalidates the note.
 *
 * @param trusted keys from outside; a key that comes with the note proves nothing
 */
export function checkNote(note: string | Uint8Array, trusted: readonly VerifierKey[]): NoteCheck {
  const parsed = parseNote(note);
  if (parsed.type === 'malformed') return parsed;
  const text = Buffer.from(parsed.text);
  const by = new Set<VerifierKey>();
  for (const { name, keyId, signature } of parsed.signatures) {
    const known = trusted.filter((key) => key.name === name && key.keyId === keyId);
    if (known.length === 0) continue;
    const signer = known.find(({ publicKey }) => verify(null, text, publicKey, signature));
    if (signer === undefined) return { type: 'bad-signature', name, keyId };
    by.add(signer);
  }
  return by.size > 0 ? { type: 'signed', text: parsed.text, by: [...by] } : { type: 'not-signed' };
}

// Successors

/**
 * How a log's key names its successor: a signed note (C2SP signed-note) with the text
 *
 *   <log name>/signing-key
 *   <log id>
 *   <new verifier key>
 *
 * The second line is not a tree size, so this can never be mistaken for a checkpoint.
 */
interface Successor {
  readonly logName: string;
  readonly logId: string;
  /** The successor's verifier key. */
  readonly publicKey: string;
}

/** @returns the signed note */
export function endorse(successor: Successor, by: SigningKey): string {
  return signNote(successorText(successor), by);
}

export function isEndorsed(endorsement: string, successor: Successor, by: VerifierKey): boolean {
  const checked = checkNote(endorsement, [by]);
  return checked.type === 'signed' && checked.text === successorText(successor);
}

function successorText({ logName, logId, publicKey }: Successor): string {
  return `${logName}/signing-key\n${logId}\n${publicKey}\n`;
}

// Keys

/**
 * The log's key pair: a verifier key, and the signer key as Go's golang.org/x/mod/sumdb/note writes it:
 *
 *   signer key  PRIVATE+KEY+<name>+<key id>+<base64(0x01 ‖ 32-byte private key)>
 *
 * The name is the log's name. The key id is the same as the verifier key's.
 */
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

const PRIVATE_KEY_BYTES = 32;

/** @throws DomainError `identity` when the name is not valid for a key */
export function makeSigningKey(name: string): SigningKey {
  // An Ed25519 private key is 32 random bytes (RFC 8032 §5.1.5). Not generateKeyPairSync: in Node 20 its job locks the key when
  // it is garbage collected, and if that happens while the key is being exported, the process hangs for good.
  return signingKey(name, privateKeyOf(randomBytes(PRIVATE_KEY_BYTES)));
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

/** DER header of a PKCS #8 Ed25519 private key (RFC 8410 §7); the 32-byte key follows. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

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

/** A public key that Node checks signatures with. */
export interface VerifierKey {
  readonly name: string;
  /** Eight lower-case hex digits. */
  readonly keyId: string;
  readonly publicKey: KeyObject;
  /** The verifier key as it is written. */
  readonly text: string;
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

/** Parses a verifier key from the log; undefined when it is not one, or its name is not the log's. */
export function keyOfLog(publicKey: string, logName: string): VerifierKey | undefined {
  try {
    const key = parseVerifierKey(publicKey, 'publicKey');
    return key.name === logName ? key : undefined;
  } catch {
    return undefined;
  }
}

/** DER header of an Ed25519 public key (RFC 8410 §4); the 32-byte key follows. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * @param rawPublicKey 32 bytes
 * @throws DomainError `identity` when the name is not valid for a key
 */
function verifierKey(name: string, rawPublicKey: Uint8Array): VerifierKey {
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

/** base64(0x01 ‖ key), as in verifier keys and signer keys. */
function encodeTypedKey(raw: Uint8Array): string {
  return Buffer.from(typedKey(raw)).toString('base64');
}
