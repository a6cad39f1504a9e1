/**
 * Checkpoints for somebody else to keep: a file to which the newest checkpoint of every stream that grew is appended, at
 * most once a second. It is worth something as soon as it lies, or is copied, where the operator cannot change it.
 *
 * The notes stand one after another, an empty line between them; `urn verify --checkpoint FILE` reads them.
 */
import { appendFile } from 'node:fs/promises';
import type { Ledger } from './ledger.ts';

const INTERVAL_MS = 1000;

export class Witness {
  readonly #file: string;
  readonly #ledger: Ledger;
  readonly #onError: (error: Error) => void;
  /** Size of each stream's checkpoint that was written last. */
  readonly #written = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #writing = Promise.resolve();

  /** @param onError is told each time the file cannot be written; what is missing is written a second later */
  constructor(file: string, ledger: Ledger, onError: (error: Error) => void) {
    this.#file = file;
    this.#ledger = ledger;
    this.#onError = onError;
    this.#timer = setInterval(() => this.#write(), INTERVAL_MS).unref();
    this.#write();
  }

  /** Writes what is new. Resolves when it is in the file. */
  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#write();
  }

  #write(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      const grown = this.#ledger
        .streams()
        .filter((stream) => this.#ledger.tree(stream).size > (this.#written.get(stream) ?? 0));
      if (grown.length === 0) return;
      const checkpoints = grown.map((stream) => ({ stream, ...this.#ledger.checkpoint(stream) }));
      try {
        await appendFile(this.#file, checkpoints.map(({ note }) => `${note}\n`).join(''), { mode: 0o600 });
        for (const { stream, size } of checkpoints) this.#written.set(stream, size);
      } catch (error) {
        this.#onError(error as Error);
      }
    });
    return this.#writing;
  }
}
