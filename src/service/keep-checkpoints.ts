/**
 * Saves the newest checkpoint of every stream that has grown, at most once a second. They go to two places: the file in which
 * the log keeps what it signed last, which the next start on this machine compares with, and a witness's file, which keeps all
 * of them for somebody else.
 */
import { appendFile, open, stat } from 'node:fs/promises';
import type { Ledger, SignedCheckpoint } from '../core/log/ledger.ts';
import type { Logger } from './monitoring/logger.ts';
import type { OpenLog } from './open/open-log.ts';

/**
 * Begins to save the newest checkpoints.
 * @param witness its file; undefined if there is none
 * @returns what must be stopped with the service
 */
export function keepCheckpoints(
  log: OpenLog,
  witness: string | undefined,
  logger: Logger,
): CheckpointKeeper[] {
  const { ledger, lastCheckpoints } = log;
  logFirstCheckpoints(log, logger);
  void ledger.warmUp();
  const keep = (what: string, write: Write) =>
    new CheckpointKeeper(ledger, write, (error) =>
      logger.error({ why: error.message }, `${what} cannot be written; trying again every second`),
    );
  return [
    ...(lastCheckpoints
      ? [keep('the file of last checkpoints', (checkpoints) => lastCheckpoints.keep(checkpoints))]
      : []),
    ...(witness === undefined ? [] : [keep("the witness's file", appendTo(witness))]),
  ];
}

/** Logs the first checkpoint of each study that has no participants yet. Later checkpoints prove less. */
function logFirstCheckpoints({ studies, ledger }: OpenLog, logger: Logger): void {
  for (const { stream, registered } of studies.list())
    if (ledger.tree(stream).size === 1 && ledger.maySign(stream))
      logger.info(
        { study: registered.configuration.name, checkpoint: ledger.checkpoint(stream, 1).note },
        'first checkpoint of a study: archive it outside this machine before the first participant',
      );
}

const INTERVAL_MS = 1000;

/** Writes checkpoints to one of the two places. */
type Write = (checkpoints: readonly SignedCheckpoint[]) => Promise<void>;

/** Gives what is new to one `write`, one writing at a time. */
export class CheckpointKeeper {
  readonly #ledger: Ledger;
  readonly #write: Write;
  readonly #onError: (error: Error) => void;
  /** Size of the last written checkpoint, by stream. */
  readonly #written = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #keeping = Promise.resolve();

  /** @param onError called each time writing fails; the same checkpoints are tried again a second later */
  constructor(ledger: Ledger, write: Write, onError: (error: Error) => void) {
    this.#ledger = ledger;
    this.#write = write;
    this.#onError = onError;
    this.#timer = setInterval(() => this.#keepNew(), INTERVAL_MS).unref();
    this.#keepNew();
  }

  /** Stops the timer and writes what is new. Resolves when that is done. */
  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#keepNew();
  }

  #keepNew(): Promise<void> {
    this.#keeping = this.#keeping.then(async () => {
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
    return this.#keeping;
  }
}

/** Appends notes separated by empty lines, as `urn verify --checkpoint FILE` reads them. */
export function appendTo(file: string): Write {
  return async (checkpoints) => {
    const notes = checkpoints.map(({ note }) => `${note}\n`).join('');
    await appendFile(file, (await isCutOff(file)) ? `\n\n${notes}` : notes, { mode: 0o600 });
  };
}

/** Whether the last note is not whole, as after a full disk: it must not spoil the next. */
async function isCutOff(file: string): Promise<boolean> {
  try {
    const found = await stat(file);
    if (!found.isFile() || found.size === 0) return false;
    const handle = await open(file, 'r');
    try {
      const end = await handle.read(Buffer.alloc(2), 0, 2, Math.max(0, found.size - 2));
      return end.buffer.toString() !== '\n\n';
    } finally {
      await handle.close();
    }
  } catch {
    // There is none yet, or it can only be written.
    return false;
  }
}
