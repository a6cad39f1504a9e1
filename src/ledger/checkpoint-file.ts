/**
 * Files of kept checkpoints. A file holds signed notes separated by empty lines, or one line of base64 for each whole
 * note, as in the response header `Urn-Receipt`, or a mix of both. Parsing is strict: a checkpoint that is silently left
 * out proves nothing but looks as if it did.
 */
import { decodeBase64 } from './base64.ts';
import { type Checkpoint, parseCheckpoint } from './checkpoint-text.ts';
import { type Malformed, parseNote } from './note.ts';
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

const SIGNATURE = '— ';
const HINT =
  '(hint: a file holds signed notes with an empty line between two, or one base64 line for each, as the header Urn-Receipt)';

/**
 * @param file what messages call it
 * @throws CheckpointFileError
 */
export function parseCheckpointFile(bytes: Uint8Array, file: string): KeptCheckpoint[] {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new CheckpointFileError(`${file} is not UTF-8 ${HINT}`);
  const lines = text.split('\n');
  const kept: KeptCheckpoint[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    const where = `${file}:${at + 1}`;
    if (line === '') {
      at++;
      continue;
    }
    if (line.endsWith('\r'))
      throw new CheckpointFileError(`${where}: the line ends with a carriage return ${HINT}`);
    const decoded = noteInBase64(line);
    if (decoded !== undefined) {
      kept.push(checkpointAt(decoded, where));
      at++;
      continue;
    }
    const end = endOfNote(lines, at);
    if (end === undefined)
      throw new CheckpointFileError(`${where}: no complete signed note begins here ${HINT}`);
    kept.push(checkpointAt(`${lines.slice(at, end).join('\n')}\n`, where));
    at = end;
  }
  if (kept.length === 0) throw new CheckpointFileError(`${file} holds no checkpoint ${HINT}`);
  return kept;
}

/** The note that a line holds in base64; undefined for any other line, such as the first line of a note. */
function noteInBase64(line: string): string | undefined {
  const bytes = decodeBase64(line);
  const text = bytes && decodeUtf8(bytes);
  return text?.includes(`\n\n${SIGNATURE}`) ? text : undefined;
}

/** Index of the line after the last signature of the note that begins at `begin`. */
function endOfNote(lines: readonly string[], begin: number): number | undefined {
  const empty = lines.indexOf('', begin);
  let end = empty + 1;
  while (empty > begin && lines[end]?.startsWith(SIGNATURE)) end++;
  // The last signature is followed by an empty line. At the end of the file, the final line break makes one.
  return end > empty + 1 && empty > begin && lines[end] === '' ? end : undefined;
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
