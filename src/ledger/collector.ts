/**
 * Collects the newest checkpoint of every stream that grew, at most once a second. Two places want them: the file of a
 * witness, which keeps them all for somebody else, and the log's own note of what it signed last.
 */
import { appendFile } from 'node:fs/promises';
import type { Ledger, SignedCheckpoint } from './ledger.ts';

const INTERVAL_MS = 1000;

type Write = (checkpoints: readonly SignedCheckpoint[]) => Promise<void>;

export class Collector {
  readonly #ledger: Ledger;
  readonly #write: Write;
  readonly #onError: (error: Error) => void;
  /** Size of each stream's checkpoint that was written last. */
  readonly #written = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #collecting = Promise.resolve();

  /** @param onError is told each time that writing fails; what is missing is written a second later */
  constructor(ledger: Ledger, write: Write, onError: (error: Error) => void) {
    this.#ledger = ledger;
    this.#write = write;
    this.#onError = onError;
    this.#timer = setInterval(() => this.#collect(), INTERVAL_MS).unref();
    this.#collect();
  }

  /** Writes what is new. Resolves when that is done. */
  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#collect();
  }

  #collect(): Promise<void> {
    this.#collecting = this.#collecting.then(async () => {
      const grown = this.#ledger
        .streams()
        .filter((stream) => this.#ledger.tree(stream).size > (this.#written.get(stream) ?? 0))
        // Why not was reported when it came to be so.
        .filter((stream) => this.#ledger.maySign(stream));
      if (grown.length === 0) return;
      try {
        const checkpoints = grown.map((stream) => this.#ledger.checkpoint(stream));
        await this.#write(checkpoints);
        for (const [i, { size }] of checkpoints.entries()) this.#written.set(grown[i] ?? '', size);
      } catch (error) {
        this.#onError(error as Error);
      }
    });
    return this.#collecting;
  }
}

/** Notes one after another, an empty line between them, as `urn verify --checkpoint FILE` reads them. */
export function appendTo(file: string): Write {
  return (checkpoints) =>
    appendFile(file, checkpoints.map(({ note }) => `${note}\n`).join(''), { mode: 0o600 });
}
