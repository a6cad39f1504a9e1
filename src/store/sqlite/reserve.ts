/**
 * Room on the disk for what cannot wait. A file beside the database holds it, and is deleted when the disk is full and an
 * emergency must be recorded. All processes share the one file, and only whoever holds the database's write lock makes
 * it or decides that it is there.
 *
 * Its bytes are random, because a file system that compresses would keep almost no room for others.
 */
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** SQLite writes a small record in six pages of 4 KiB, and needs 32 KiB to open the database. */
const RESERVE_BYTES = 1024 * 1024;
/** More than one ordinary append takes. */
const PROBE_BYTES = 64 * 1024;
/** Codes of errors that more room would help against. */
const NO_ROOM: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);

export class Reserve {
  readonly #database: string;
  readonly #file: string;
  /** One name, so that a crash leaves at most one: the write lock keeps others away. */
  readonly #draft: string;

  constructor(database: string) {
    this.#database = database;
    this.#file = `${database}.reserve`;
    this.#draft = `${this.#file}.new`;
  }

  isKept(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.size === RESERVE_BYTES;
  }

  /** Hold the write lock. @throws Error if there is no room for it, or the folder cannot be written */
  make(): void {
    const { bavail, bsize } = statfsSync(dirname(this.#file));
    // Trying would take the room that an emergency may need just now.
    if (bavail * bsize < RESERVE_BYTES) throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
    try {
      write(this.#draft, RESERVE_BYTES);
      // The superuser may be at work beside a service that runs as somebody else.
      const { uid, gid } = statSync(this.#database);
      if (process.getuid?.() === 0) chownSync(this.#draft, uid, gid);
      renameSync(this.#draft, this.#file);
    } catch (error) {
      rmSync(this.#draft, { force: true });
      throw error;
    }
  }

  /** It is no error if it cannot be given up: what needs its room fails for want of it. */
  giveUp(): void {
    for (const file of [this.#file, this.#draft])
      try {
        rmSync(file, { force: true });
      } catch {
        // The file system takes no changes.
      }
  }
}

/** Tries to write a small file beside the database, and removes it. @returns the code of the error if that fails */
export function probeRoom(database: string): string | undefined {
  const file = `${database}.probe`;
  try {
    try {
      write(file, PROBE_BYTES);
    } finally {
      rmSync(file, { force: true });
    }
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}

export function isNoRoom(code: string | undefined): boolean {
  return NO_ROOM.has(code);
}

/** Random bytes, on the disk. */
function write(file: string, size: number): void {
  // One that a crash left may belong to another user.
  rmSync(file, { force: true });
  const descriptor = openSync(file, 'w', 0o600);
  try {
    const bytes = randomBytes(size);
    for (let written = 0; written < size; ) written += writeSync(descriptor, bytes, written);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
