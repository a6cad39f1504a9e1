/**
 * The formats in which the log signs and in which people keep what it signed, as text: notes (C2SP signed-note), the checkpoints
 * in them (C2SP tlog-checkpoint), files of these, and the keys that notes name. Parsing is strict: each has exactly one accepted
 * form, and nothing here checks a signature.
 *
 * This also runs in browsers: it imports nothing, neither of Node nor of this project.
 */

// Notes

/**
 * A note as it is written. It proves nothing before its signature is checked. A text, an empty line, and a line for each
 * signature:
 *
 *   <text, which ends with a line break>
 *
 *   — <key name> <base64(4-byte key id ‖ signature)>
 *
 * A note is UTF-8 without ASCII control characters other than line breaks.
 */
interface SignedNote {
  readonly type: 'note';
  /** With its final line break, but without the empty line. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

export interface NoteSignature {
  readonly name: string;
  /** Eight lower-case hex digits. */
  readonly keyId: string;
  /** The bytes after the key id: 64 for Ed25519. */
  readonly signature: Uint8Array;
}

export interface Malformed {
  readonly type: 'malformed';
  /** For people. Never quotes the note. */
  readonly why: string;
}

/** The specification asks for a limit of at least 16. Each signature by a known key costs a verification. */
const MAX_SIGNATURES = 100;
/** Room for that many post-quantum signatures of 5 kB, which the specification expects in the future. */
const MAX_NOTE_BYTES = 1_000_000;
const KEY_ID_BYTES = 4;
/** Control characters other than line breaks, and lone surrogates, which are not UTF-8. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse them
export const NOT_IN_NOTES = /[\u0000-\u0009\u000b-\u001f\p{Surrogate}]/u;

/** Reads a note without checking who signed it. */
export function parseNote(note: string | Uint8Array): SignedNote | Malformed {
  const bytes = typeof note === 'string' ? new TextEncoder().encode(note) : note;
  if (bytes.length > MAX_NOTE_BYTES) return malformed(`it is longer than ${MAX_NOTE_BYTES} bytes`);
  const all = decodeUtf8(bytes);
  if (all === undefined) return malformed('it is not UTF-8');
  if (NOT_IN_NOTES.test(all)) return malformed('it has a control character other than line breaks');
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

// Checkpoints

/**
 * A checkpoint, by which a log signs the size and the root of a tree. The text of its note is
 *
 *   <origin>
 *   <size, decimal>
 *   <base64 of the 32-byte root>
 *   <extension lines, which this project does not use>
 *
 * Each stream is a tree with the origin `<log name>/<stream>`, or `<log name>/<stream>/<n>` after the log's n-th recovery.
 */
export interface Checkpoint {
  readonly type: 'checkpoint';
  readonly origin: string;
  /** Number of leaves. */
  readonly size: number;
  readonly root: Hash;
  /** Other logs' lines after the root, kept as they are. */
  readonly extensions: readonly string[];
}

/** Reads the text of a checkpoint's note. Sizes above 2^53 - 1 are refused. */
export function parseCheckpoint(text: string): Checkpoint | Malformed {
  const lines = text.split('\n');
  if (lines.pop() !== '') return notACheckpoint('the last line does not end with a line break');
  if (lines.includes('')) return notACheckpoint('there is an empty line');
  const [origin, size, encodedRoot, ...extensions] = lines;
  if (origin === undefined || size === undefined || encodedRoot === undefined)
    return notACheckpoint('there are less than three lines');
  if (!/^(0|[1-9][0-9]*)$/.test(size) || !Number.isSafeInteger(Number(size)))
    return notACheckpoint('the second line is no tree size');
  const root = decodeBase64(encodedRoot);
  if (root === undefined || !isHash(root)) return notACheckpoint('the third line is no root hash');
  return { type: 'checkpoint', origin, size: Number(size), root, extensions };
}

function notACheckpoint(why: string): Malformed {
  return { type: 'malformed', why: `not a checkpoint: ${why}` };
}

/** The stream and the recovery that an origin names; undefined when it is not an origin of this log. */
export function parseOrigin(
  logName: string,
  origin: string,
): { readonly stream: string; readonly recovery: number } | undefined {
  if (!origin.startsWith(`${logName}/`)) return undefined;
  const [, stream = '', recovery = '0'] =
    /^([^/]+)(?:\/([1-9][0-9]{0,14}))?$/.exec(origin.slice(logName.length + 1)) ?? [];
  return stream === '' ? undefined : { stream, recovery: Number(recovery) };
}

// Files of kept checkpoints

/** A checkpoint as it was kept. It proves nothing before its signature is checked. */
export interface KeptCheckpoint {
  /** `<file>:<line>` of its first line, lines counted from 1. */
  readonly where: string;
  readonly note: string;
  /** What it says. */
  readonly claims: Checkpoint;
}

/** @param where how reports refer to the note */
export function keptCheckpoint(note: string, where: string): KeptCheckpoint | Malformed {
  const parsed = parseNote(note);
  const claims = parsed.type === 'note' ? parseCheckpoint(parsed.text) : parsed;
  return claims.type === 'malformed' ? claims : { where, note, claims };
}

/** A file of kept checkpoints does not have its format (`parseCheckpointFile`). The message names file and line. */
export class CheckpointFileError extends Error {
  override readonly name = 'CheckpointFileError';
}

const LINE_FEED = 0x0a;
const SIGNATURE_START = '— ';
const FILE_HINT =
  '(hint: a file holds signed notes with an empty line between two, or one base64 line for each, as the header Urn-Receipt)';

/**
 * A file of kept checkpoints holds signed notes separated by empty lines, or one line of base64 for each whole note, as in
 * the response header `Urn-Receipt`, or a mix of both. A checkpoint that was silently left out would prove nothing but look
 * as if it did, so any other line is an error.
 * @param file what messages call it
 * @throws CheckpointFileError
 */
export function parseCheckpointFile(bytes: Uint8Array, file: string): KeptCheckpoint[] {
  const reader = new CheckpointReader(file);
  for (let from = 0, end = 0; end >= 0; from = end + 1) {
    end = bytes.indexOf(LINE_FEED, from);
    reader.take(bytes.subarray(from, end < 0 ? undefined : end));
  }
  return reader.finish();
}

/** Reads such a file line by line, and keeps nothing but the checkpoints, each of them once. */
export class CheckpointReader {
  readonly #file: string;
  readonly #onUnfit: ((where: string) => void) | undefined;
  readonly #kept = new Map<string, KeptCheckpoint>();
  #lines = 0;
  /** The note that has begun, without the line feed at its end. */
  #note: string[] = [];
  #noteLength = 0;
  #where = '';
  #signatures: number | undefined;

  /**
   * @param file what messages call it
   * @param onUnfit is told where something else begins, `<file>:<line>`, and reading goes on; without it, that is an error
   */
  constructor(file: string, onUnfit?: (where: string) => void) {
    this.#file = file;
    this.#onUnfit = onUnfit;
  }

  /** @param bytes a line without its line feed. What follows the last line feed is a line, too. @throws CheckpointFileError */
  take(bytes: Uint8Array): void {
    const line = decodeUtf8(bytes);
    this.#lines++;
    if (line === undefined) {
      if (this.#note.length === 0) this.#where = `${this.#file}:${this.#lines}`;
      this.#unfit(`${this.#file} is not UTF-8 ${FILE_HINT}`);
    } else if (this.#note.length > 0) this.#continue(line);
    else if (line !== '') this.#begin(line);
  }

  /** @throws CheckpointFileError */
  finish(): KeptCheckpoint[] {
    if (this.#note.length > 0) this.#incomplete();
    if (this.#kept.size === 0 && !this.#onUnfit)
      throw new CheckpointFileError(`${this.#file} holds no checkpoint ${FILE_HINT}`);
    return [...this.#kept.values()];
  }

  #begin(line: string): void {
    this.#where = `${this.#file}:${this.#lines}`;
    this.#signatures = undefined;
    this.#noteLength = 0;
    if (line.endsWith('\r')) {
      this.#unfit(`${this.#where}: the line ends with a carriage return ${FILE_HINT}`);
      return;
    }
    const decoded = noteInBase64(line);
    if (decoded === undefined) this.#add(line);
    else this.#keep(decoded);
  }

  /** A note ends with the empty line behind its signatures. At the end of the file, the final line feed makes one. */
  #continue(line: string): void {
    const isEnd = this.#signatures !== undefined && !line.startsWith(SIGNATURE_START);
    if (isEnd) {
      // Where other things are passed over, the next note may follow at once.
      if (this.#signatures && (line === '' || this.#onUnfit)) this.#keep(`${this.#note.join('\n')}\n`);
      else this.#incomplete();
      this.#note = [];
      if (line !== '') this.#begin(line);
      return;
    }
    if (this.#signatures !== undefined) {
      this.#signatures++;
    } else if (line === '') this.#signatures = 0;
    this.#add(line);
  }

  #add(line: string): void {
    this.#note.push(line);
    this.#noteLength += line.length + 1;
    if (this.#noteLength > MAX_NOTE_BYTES) this.#incomplete();
  }

  /** Clients keep the same receipt more than once. The first place counts. */
  #keep(note: string): void {
    if (this.#kept.has(note)) return;
    const kept = keptCheckpoint(note, this.#where);
    if ('why' in kept) this.#unfit(`${this.#where}: ${kept.why} ${FILE_HINT}`);
    else this.#kept.set(note, kept);
  }

  #incomplete(): void {
    this.#unfit(`${this.#where}: no complete signed note begins here ${FILE_HINT}`);
  }

  #unfit(why: string): void {
    if (!this.#onUnfit) throw new CheckpointFileError(why);
    this.#onUnfit(this.#where);
    this.#note = [];
  }
}

/** The note that a line holds in base64; undefined for any other line, such as the first line of a note. */
function noteInBase64(line: string): string | undefined {
  const bytes = decodeBase64(line);
  const text = bytes && decodeUtf8(bytes);
  return text?.includes(`\n\n${SIGNATURE_START}`) ? text : undefined;
}

// Keys

const ED25519 = 0x01;
const KEY_BYTES = 32;
/** No Unicode space, no plus, and nothing that a note cannot hold: ASCII control characters and lone surrogates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse them
const KEY_NAME = /^[^\p{White_Space}\p{Surrogate}\u0000-\u001f+]+$/u;

/**
 * The parts of a verifier key, which may not belong together:
 *
 *   verifier key  <name>+<key id>+<base64(0x01 ‖ 32-byte public key)>
 *
 * The key id is the first four bytes, in lower-case hex, of SHA-256(<name> ‖ 0x0A ‖ 0x01 ‖ public key). 0x01 stands for
 * Ed25519, the only type supported here. Notes identify a key by its name and id.
 */
export interface KeyParts {
  readonly name: string;
  /** Eight lower-case hex digits. */
  readonly keyId: string;
  /** 32 bytes. */
  readonly raw: Uint8Array;
}

/** The parts of a text in the format of a verifier key; undefined for any other text. */
export function keyParts(text: string): KeyParts | undefined {
  const [, name = '', keyId = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? [];
  const raw = decodeTypedKey(encoded);
  return isKeyName(name) && raw ? { name, keyId, raw } : undefined;
}

export function isKeyName(text: string): boolean {
  return KEY_NAME.test(text);
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

// Hashes, base64 and UTF-8

/** A hash of SHA-256: 32 bytes. */
export type Hash = Uint8Array;

export const HASH_BYTES = 32;

export function isHash(value: Uint8Array): boolean {
  return value.length === HASH_BYTES;
}

/**
 * Canonical base64 with padding (RFC 4648 §4 and §3.5): exactly one text for each sequence of bytes. Decoders accept much
 * more, so a signature could be written in several ways and a changed character could go unnoticed.
 *
 * @returns undefined when encoding the bytes again does not give the same text
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  // The decoder throws for most other texts, which takes much longer.
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : undefined;
}

const UTF8_DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text; undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return UTF8_DECODER.decode(bytes);
  } catch {
    return undefined;
  }
}
