/** Makes and checks Ed25519 signatures (RFC 8032) over the text of a note. Signatures of unknown keys are kept but not checked. */
import { sign, verify } from 'node:crypto';
import { type Malformed, type NoteSignature, parseNote } from './note.ts';
import type { SigningKey } from './signing-key.ts';
import type { VerifierKey } from './verifier-key.ts';

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
