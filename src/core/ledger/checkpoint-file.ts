/**
 * Files of kept checkpoints. A file holds signed notes separated by empty lines, or one line of base64 for each whole
 * note, as in the response header `Urn-Receipt`, or a mix of both. Parsing is strict: a checkpoint that is silently left
 * out proves nothing but looks as if it did.
 */
import { decodeBase64 } from './base64.ts';
import { type Checkpoint, parseCheckpoint } from './checkpoint-text.ts';
import { MAX_NOTE_BYTES, type Malformed, parseNote } from './note.ts';
import { decodeUtf8 } from './utf8.ts';

/** A checkpoint as it was kept. It proves nothing before its signature is checked. */
export interface KeptCheckpoint {
  /** `<file>:<line>` of its first line, lines counted from 1. */
  readonly where: string;
  readonly note: string;
  /** What it says. */
  readonly claims: Checkpoint;
}

/** The file does not have the format described above. The message names file and line. */
export class CheckpointFileError extends Error {
  override readonly name = 'CheckpointFileError';
}

const LINE_FEED = 0x0a;
const SIGNATURE = '— ';
const HINT =
  '(hint: a file holds signed notes with an empty line between two, or one base64 line for each, as the header Urn-Receipt)';

/**
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
  readonly #kept = new Map<string, KeptCheckpoint>();
  #lines = 0;
  /** The note that has begun, without the line feed at its end. */
  #note: string[] = [];
  #noteLength = 0;
  #where = '';
  #signatures: number | undefined;

  /** @param file what messages call it */
  constructor(file: string) {
    this.#file = file;
  }

  /** @param bytes a line without its line feed. What follows the last line feed is a line, too. @throws CheckpointFileError */
  take(bytes: Uint8Array): void {
    const line = decodeUtf8(bytes);
    if (line === undefined) throw new CheckpointFileError(`${this.#file} is not UTF-8 ${HINT}`);
    this.#lines++;
    if (this.#note.length > 0) this.#continue(line);
    else if (line !== '') this.#begin(line);
  }

  /** @throws CheckpointFileError */
  finish(): KeptCheckpoint[] {
    if (this.#note.length > 0) throw this.#incomplete();
    if (this.#kept.size === 0) throw new CheckpointFileError(`${this.#file} holds no checkpoint ${HINT}`);
    return [...this.#kept.values()];
  }

  #begin(line: string): void {
    this.#where = `${this.#file}:${this.#lines}`;
    if (line.endsWith('\r'))
      throw new CheckpointFileError(`${this.#where}: the line ends with a carriage return ${HINT}`);
    const decoded = noteInBase64(line);
    this.#signatures = undefined;
    this.#noteLength = 0;
    if (decoded === undefined) this.#add(line);
    else this.#keep(decoded);
  }

  /** A note ends with the empty line behind its signatures. At the end of the file, the final line feed makes one. */
  #continue(line: string): void {
    if (line === '' && this.#signatures) {
      this.#keep(`${this.#note.join('\n')}\n`);
      this.#note = [];
      return;
    }
    if (this.#signatures !== undefined) {
      if (!line.startsWith(SIGNATURE)) throw this.#incomplete();
      this.#signatures++;
    } else if (line === '') this.#signatures = 0;
    this.#add(line);
  }

  #add(line: string): void {
    this.#note.push(line);
    this.#noteLength += line.length + 1;
    if (this.#noteLength > MAX_NOTE_BYTES) throw this.#incomplete();
  }

  /** Clients keep the same receipt more than once. The first place counts. */
  #keep(note: string): void {
    if (!this.#kept.has(note)) this.#kept.set(note, checkpointAt(note, this.#where));
  }

  #incomplete(): CheckpointFileError {
    return new CheckpointFileError(`${this.#where}: no complete signed note begins here ${HINT}`);
  }
}

/** The note that a line holds in base64; undefined for any other line, such as the first line of a note. */
function noteInBase64(line: string): string | undefined {
  const bytes = decodeBase64(line);
  const text = bytes && decodeUtf8(bytes);
  return text?.includes(`\n\n${SIGNATURE}`) ? text : undefined;
}

function checkpointAt(note: string, where: string): KeptCheckpoint {
  const kept = keptCheckpoint(note, where);
  if ('why' in kept) throw new CheckpointFileError(`${where}: ${kept.why} ${HINT}`);
  return kept;
}

/** @param where how reports refer to the note */
export function keptCheckpoint(note: string, where: string): KeptCheckpoint | Malformed {
  const parsed = parseNote(note);
  const claims = parsed.type === 'note' ? parseCheckpoint(parsed.text) : parsed;
  return claims.type === 'malformed' ? claims : { where, note, claims };
}
