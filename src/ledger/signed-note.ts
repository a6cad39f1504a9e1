/**
 * Signed notes (C2SP signed-note): a text, an empty line, and a line for each signature.
 *
 *   <text, which ends with a line break>
 *
 *   — <key name> <base64(4-byte key id ‖ signature)>
 *
 * A note is UTF-8 without ASCII control characters other than line breaks. This file makes and checks Ed25519 signatures
 * (RFC 8032) over the text; signatures of unknown keys are kept but not checked. Parsing is strict: each note has exactly
 * one accepted form.
 */
import { isUtf8 } from 'node:buffer';
import { sign, verify } from 'node:crypto';
import { decodeBase64 } from './base64.ts';
import type { SigningKey } from './signing-key.ts';
import { isKeyName, type VerifierKey } from './verifier-key.ts';

/** The specification asks for a limit of at least 16. Each signature by a known key costs a verification. */
const MAX_SIGNATURES = 100;
/** Room for that many post-quantum signatures of 5 kB, which the specification expects in the future. */
const MAX_BYTES = 1_000_000;
const KEY_ID_BYTES = 4;
// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse them
const CONTROL_CHARACTER = /[\u0000-\u0009\u000b-\u001f]/;

export interface NoteSignature {
  readonly name: string;
  /** Eight lower-case hex digits. */
  readonly keyId: string;
  /** The bytes after the key id: 64 for Ed25519. */
  readonly signature: Uint8Array;
}

/** A note as it is written. It proves nothing before its signature is checked. */
export interface SignedNote {
  readonly type: 'note';
  /** With its final line break, but without the empty line. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

export interface Malformed {
  readonly type: 'malformed';
  /** For people. Never quotes the note. */
  readonly why: string;
}

export type NoteCheck =
  /** At least one trusted key has signed, and no trusted key's signature is wrong. */
  | { readonly type: 'signed'; readonly text: string; readonly by: readonly VerifierKey[] }
  /** There are signatures, but only by unknown keys. */
  | { readonly type: 'not-signed' }
  /** A line has the name and the id of a trusted key, but that key did not sign this text. */
  | { readonly type: 'bad-signature'; readonly name: string; readonly keyId: string }
  | Malformed;

/**
 * Signs a text.
 * @returns the note
 * @throws RangeError when a note cannot hold the text
 */
export function signNote(text: string, { name, keyId, privateKey }: SigningKey): string {
  return formatNote(text, [{ name, keyId, signature: sign(null, Buffer.from(text), privateKey) }]);
}

/** @throws RangeError when the result would not be read back as the same text */
export function formatNote(text: string, signatures: readonly NoteSignature[]): string {
  const lines = signatures.map(({ name, keyId, signature }) => {
    const encoded = Buffer.concat([Buffer.from(keyId, 'hex'), signature]).toString('base64');
    return `— ${name} ${encoded}\n`;
  });
  const note = `${text}\n${lines.join('')}`;
  const parsed = parseNote(note);
  if (parsed.type === 'malformed') throw new RangeError(`not a note: ${parsed.why}`);
  if (parsed.text !== text) throw new RangeError('not a note: the text does not end with a line break');
  return note;
}

/** Reads a note without checking who signed it. */
export function parseNote(note: string | Uint8Array): SignedNote | Malformed {
  const bytes = typeof note === 'string' ? Buffer.from(note) : note;
  if (bytes.length > MAX_BYTES) return malformed(`it is longer than ${MAX_BYTES} bytes`);
  if (!isUtf8(bytes)) return malformed('it is not UTF-8');
  const all = Buffer.from(bytes).toString('utf8');
  if (CONTROL_CHARACTER.test(all)) return malformed('it has a control character other than line breaks');
  const end = all.lastIndexOf('\n\n');
  if (end < 0) return malformed('it has no empty line between text and signatures');
  const lines = all.slice(end + 2).split('\n');
  if (lines.pop() !== '') return malformed('its last line does not end with a line break');
  if (lines.length === 0) return malformed('it has no signature');
  if (lines.length > MAX_SIGNATURES) return malformed(`it has more than ${MAX_SIGNATURES} signatures`);
  const signatures: NoteSignature[] = [];
  for (const [i, line] of lines.entries()) {
    const signature = parseSignature(line);
    if (signature === undefined)
      return malformed(`line ${i + 1} of its signatures is not "— <key name> <base64>"`);
    signatures.push(signature);
  }
  return { type: 'note', text: all.slice(0, end + 1), signatures };
}

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

function parseSignature(line: string): NoteSignature | undefined {
  const [, name = '', encoded = ''] = /^— ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
  const bytes = decodeBase64(encoded);
  if (!isKeyName(name) || bytes === undefined || bytes.length <= KEY_ID_BYTES) return undefined;
  return {
    name,
    keyId: bytes.toString('hex', 0, KEY_ID_BYTES),
    signature: bytes.subarray(KEY_ID_BYTES),
  };
}

function malformed(why: string): Malformed {
  return { type: 'malformed', why };
}
