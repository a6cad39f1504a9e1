/**
 * Code-breaks that were shown in an emergency while the log could not be written, one JSON text per line. It holds no arm.
 * Each is on the disk before its arm is shown, and recorded in the log as soon as that is possible.
 *
 * A disk that is full may take half a line. Each line begins with a line feed, so that half a line spoils no other, and a
 * line that is not understood is counted and kept.
 *
 * Several processes may use the file. A line is added in one write. To take recorded lines out, the file is moved aside,
 * and what somebody else added meanwhile is put back; whoever added a line to a file that was moved aside adds it again.
 * A line may be there twice after that, which does no harm, because a reveal is recorded once.
 */
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { RevealCategory } from '../../events/code-break.ts';
import { Actor } from '../../events/record.ts';

/** In the data folder. */
export const PENDING_REVEALS = 'reveals.pending';

const PendingReveal = z.strictObject({
  study: z.string(),
  /** As randomized, and the revision of the enrolling event: after a recovery the id may be somebody else's. */
  participantId: z.string(),
  randomizedAt: z.int().nonnegative(),
  category: RevealCategory,
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

  constructor(file: string) {
    this.#file = file;
  }

  /** Resolves when the reveal is on the disk. */
  async add(reveal: PendingReveal): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    await this.#append([JSON.stringify(PendingReveal.parse(reveal))]);
  }

  /** @throws Error if the file cannot be read */
  async list(): Promise<Pending> {
    const lines = [...(await linesOf(this.#aside)), ...(await linesOf(this.#file))];
    const understood = lines.flatMap((line) => parsed(line) ?? []);
    const byId = new Map(understood.map((reveal) => [reveal.reveal, reveal]));
    return { reveals: [...byId.values()], damaged: lines.length - understood.length };
  }

  /** @param recorded the ids of reveals that are in the log */
  async remove(recorded: ReadonlySet<string>): Promise<void> {
    // What is left of an earlier attempt that was interrupted comes first.
    await this.#putBack(recorded);
    await rename(this.#file, this.#aside).catch(ignoreMissing);
    await this.#putBack(recorded);
  }

  get #aside(): string {
    return `${this.#file}.old`;
  }

  async #putBack(recorded: ReadonlySet<string>): Promise<void> {
    const lines = await linesOf(this.#aside);
    const left = lines.filter((line) => !recorded.has(parsed(line)?.reveal ?? ''));
    if (left.length > 0) await this.#append(left);
    await rm(this.#aside, { force: true });
  }

  async #append(lines: readonly string[]): Promise<void> {
    for (;;) {
      const file = await open(this.#file, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, 0o600);
      try {
        await file.appendFile(lines.map((line) => `\n${line}\n`).join(''));
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
