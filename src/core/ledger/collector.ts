/**
 * Collects the newest checkpoint of every stream that has grown, at most once a second. They go to two places: a witness's
 * file, which keeps all of them for somebody else, and the file in which the log saves what it signed last.
 */
import { appendFile } from 'node:fs/promises';
import type { Ledger, SignedCheckpoint } from './ledger.ts';

const INTERVAL_MS = 1000;

type Write = (checkpoints: readonly SignedCheckpoint[]) => Promise<void>;

export class Collector {
  readonly #ledger: Ledger;
  readonly #write: Write;
  readonly #onError: (error: Error) => void;
  /** Size of the last written checkpoint, by stream. */
  readonly #written = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #collecting = Promise.resolve();

  /** @param onError called each time writing fails; the same checkpoints are tried again a second later */
  constructor(ledger: Ledger, write: Write, onError: (error: Error) => void) {
    this.#ledger = ledger;
    this.#write = write;
    this.#onError = onError;
    this.#timer = setInterval(() => this.#collect(), INTERVAL_MS).unref();
    this.#collect();
  }

  /** Stops the timer and writes what is new. Resolves when that is done. */
  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#collect();
  }

  #collect(): Promise<void> {
    this.#collecting = this.#collecting.then(async () => {
      const grown = this.#ledger
        .streams()
        .filter((stream) => this.#ledger.tree(stream).size > (this.#written.get(stream) ?? 0))
        // The reason for a refusal was reported when it arose.
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

/** Appends notes separated by empty lines, as `urn verify --checkpoint FILE` reads them. */
export function appendTo(file: string): Write {
  return (checkpoints) =>
    appendFile(file, checkpoints.map(({ note }) => `${note}\n`).join(''), { mode: 0o600 });
}
