/**
 * Code-breaks that were shown in an emergency while the log could not be written, one JSON text per line. It holds no arm.
 * Each is on the disk before its arm is shown, and recorded in the log as soon as that is possible.
 *
 * A disk that is full may take half a line. Each line begins with a line feed, so that half a line spoils no other, and a
 * line that is not understood is counted and kept. The half lines of this process do not count: it knows what they should
 * have said, and writes it again.
 *
 * Several processes may use the file. Adding a line needs no lock, because an emergency must not wait for one: it is one
 * write. To take recorded lines out, one process at a time moves the file aside and puts back what else is in it; whoever
 * added a line to a file that was moved aside adds it again. A line may be there twice after that, which does no harm,
 * because a reveal is recorded once.
 */
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Actor } from '../../../events/record.ts';
import { RevealCategory } from '../../../events/unblinding.ts';

/** In the data folder. */
export const PENDING_REVEALS = 'reveals.pending';

const STALE_LOCK_MS = 60_000;
/** How long a file that was moved aside must stay as it is. Adding a line takes far less. */
const SETTLE_MS = 50;

const PendingReveal = z.strictObject({
  study: z.string(),
  /** As randomized, and the revision of the enrolling event: after a recovery the id may be somebody else's. */
  participantId: z.string().optional(),
  randomizedAt: z.int().nonnegative().optional(),
  /** Of the pack, if the code-break was asked for by it. */
  code: z.string().optional(),
  /** Of no other are arms shown before they are recorded, and no log with another would verify. */
  category: RevealCategory.extract(['emergency']),
  reason: z.string(),
  requestedBy: z.string().optional(),
  reveal: z.uuid(),
  shownAt: z.iso.datetime({ precision: 3 }),
  actor: Actor,
  idempotencyKey: z.string().optional(),
});
export type PendingReveal = z.infer<typeof PendingReveal>;

export interface Pending {
  readonly reveals: readonly PendingReveal[];
  /** How many lines are not understood. */
  readonly damaged: number;
}

export const NOTHING_PENDING: Pending = { reveals: [], damaged: 0 };

export class PendingReveals {
  readonly #file: string;
  /** What is left in the file of lines that this process could not finish. */
  readonly #halves = new Set<string>();

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Resolves when the reveal is on the disk.
   * @param leaving how much room there must be on the disk, in bytes, for what is more urgent than this
   */
  async add(reveal: PendingReveal, leaving = 0): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    if (leaving > 0) {
      const { bavail, bsize } = await statfs(dirname(this.#file));
      if (bavail * bsize < leaving) throw new Error('the room that is left on the disk is for others');
    }
    await this.#append([JSON.stringify(PendingReveal.parse(reveal))]);
  }

  /** @throws Error if the file cannot be read */
  async list(): Promise<Pending> {
    const all = [...(await linesOf(this.#aside)), ...(await linesOf(this.#file))];
    const lines = all.filter((line) => !this.#halves.has(line));
    const understood = lines.flatMap((line) => parsed(line) ?? []);
    const byId = new Map(understood.map((reveal) => [reveal.reveal, reveal]));
    return { reveals: [...byId.values()], damaged: lines.length - understood.length };
  }

  /**
   * Does nothing while another process removes lines. A reveal that is recorded twice is in the log once.
   * @param recorded the ids of reveals that are in the log
   */
  async remove(recorded: ReadonlySet<string>): Promise<void> {
    const lock = await this.#lock();
    if (!lock) return;
    try {
      // What is left of an earlier attempt that was interrupted comes first.
      await this.#putBack(recorded);
      await rename(this.#file, this.#aside).catch(ignoreMissing);
      await this.#putBack(recorded);
    } finally {
      await lock.close();
      await rm(this.#lockFile, { force: true });
    }
  }

  /** Undefined while another process holds it. An old lock was left behind by a killed process. */
  async #lock(): Promise<FileHandle | undefined> {
    const made = await stat(this.#lockFile).catch(ignoreMissing);
    if (made && Date.now() - made.mtimeMs > STALE_LOCK_MS) await rm(this.#lockFile, { force: true });
    try {
      return await open(this.#lockFile, 'wx', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return undefined;
    }
  }

  get #lockFile(): string {
    return `${this.#file}.lock`;
  }

  get #aside(): string {
    return `${this.#file}.old`;
  }

  async #putBack(recorded: ReadonlySet<string>): Promise<void> {
    const lines = await this.#settledLines();
    const left = lines.filter((line) => !this.#halves.has(line) && !recorded.has(parsed(line)?.reveal ?? ''));
    if (left.length > 0) await this.#append(left);
    await rm(this.#aside, { force: true });
  }

  /** The lines of the file that was moved aside, read when nobody writes to it any more. */
  async #settledLines(): Promise<string[]> {
    for (;;) {
      const before = await linesOf(this.#aside);
      if (before.length === 0) return before;
      await delay(SETTLE_MS);
      const now = await linesOf(this.#aside);
      if (now.join('\n') === before.join('\n')) return now;
    }
  }

  async #append(lines: readonly string[]): Promise<void> {
    for (;;) {
      const file = await open(this.#file, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, 0o600);
      try {
        if (process.getuid?.() === 0) await this.#giveToOwnerOfFolder(file);
        const bytes = Buffer.from(lines.map((line) => `\n${line}\n`).join(''));
        // In one write, so that the lines of other processes stay whole.
        const { bytesWritten } = await file.write(bytes);
        if (bytesWritten < bytes.length) {
          this.#halves.add(bytes.toString('utf8', 0, bytesWritten).trim());
          throw new Error('no room for a whole line');
        }
        await file.sync();
        // Somebody may have moved the file aside before this was written.
        const [{ ino }, now] = [await file.stat(), await stat(this.#file).catch(ignoreMissing)];
        if (now?.ino === ino) break;
      } finally {
        await file.close();
      }
    }
    const folder = await open(dirname(this.#file), 'r');
    await folder.sync().finally(() => folder.close());
  }

  /** The superuser may break a code beside a service that runs as somebody else, who must be able to use the file. */
  async #giveToOwnerOfFolder(file: FileHandle): Promise<void> {
    const { uid, gid } = await stat(dirname(this.#file));
    await file.chown(uid, gid);
  }
}

/** Undefined for a line that is not understood. */
function parsed(line: string): PendingReveal | undefined {
  try {
    return PendingReveal.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

async function linesOf(file: string): Promise<string[]> {
  const text = (await readFile(file, 'utf8').catch(ignoreMissing)) ?? '';
  return text.split('\n').filter((line) => line !== '');
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
