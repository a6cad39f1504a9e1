/**
 * Signed notes (C2SP signed-note): a text, an empty line, and a line for each signature.
 *
 *   <text, which ends with a line break>
 *
 *   — <key name> <base64(4-byte key id ‖ signature)>
 *
 * A note is UTF-8 without ASCII control characters other than line breaks. Parsing is strict: each note has exactly one
 * accepted form.
 */
import { decodeBase64 } from './base64.ts';
import { isKeyName, keyIdIn } from './key-text.ts';
import { decodeUtf8 } from './utf8.ts';

/** The specification asks for a limit of at least 16. Each signature by a known key costs a verification. */
const MAX_SIGNATURES = 100;
/** Room for that many post-quantum signatures of 5 kB, which the specification expects in the future. */
export const MAX_NOTE_BYTES = 1_000_000;
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

/** Reads a note without checking who signed it. */
export function parseNote(note: string | Uint8Array): SignedNote | Malformed {
  const bytes = typeof note === 'string' ? new TextEncoder().encode(note) : note;
  if (bytes.length > MAX_NOTE_BYTES) return malformed(`it is longer than ${MAX_NOTE_BYTES} bytes`);
  const all = decodeUtf8(bytes);
  if (all === undefined) return malformed('it is not UTF-8');
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

function parseSignature(line: string): NoteSignature | undefined {
  const [, name = '', encoded = ''] = /^— ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
  const bytes = decodeBase64(encoded);
  if (!isKeyName(name) || bytes === undefined || bytes.length <= KEY_ID_BYTES) return undefined;
  return {
    name,
    keyId: keyIdIn(bytes),
    signature: bytes.subarray(KEY_ID_BYTES),
  };
}

function malformed(why: string): Malformed {
  return { type: 'malformed', why };
}
