/** Shows how much of a long log has been read, in the service log and at /readyz. */
import { plural } from '../base/wording.ts';
import type { Logger } from './monitoring/logger.ts';
import type { OpenLog } from './open/open-log.ts';

type LogToRead = Pick<OpenLog, 'store' | 'lastCheckpoints' | 'rebuild'>;

/** A start that takes less time logs nothing. */
const FIRST_MS = 2000;
const EVERY_MS = 5000;

export class StartProgress {
  readonly #log: LogToRead;
  readonly #logger: Logger;
  #total: number | undefined;
  #records = 0;

  constructor(log: LogToRead, logger: Logger) {
    this.#log = log;
    this.#logger = logger;
  }

  /** Folds the log, and logs the progress if it takes long. @throws what `rebuild` throws */
  async rebuild(): Promise<void> {
    this.#total = totalOf(this.#log);
    const logProgress = () => {
      this.#logger.info({ records: this.#records, of: this.#total }, 'reading the log');
      timer = setTimeout(logProgress, EVERY_MS);
    };
    let timer = setTimeout(logProgress, FIRST_MS);
    try {
      await this.#log.rebuild((records) => {
        this.#records = records;
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** "45000 of 220000 records" */
  describe(): string {
    // Others may write meanwhile, and the last checkpoints may be a second old.
    const total = this.#total === undefined ? '' : ` of ${Math.max(this.#total, this.#records)}`;
    return `${this.#records}${total} ${plural(this.#records, 'record')}`;
  }
}

/** The size of the log, according to the store or else to the last checkpoints on this machine. */
function totalOf({ store, lastCheckpoints }: LogToRead): number | undefined {
  if (store.size) return store.size();
  const signed = lastCheckpoints?.signedBefore ?? [];
  return signed.length === 0 ? undefined : signed.reduce((sum, { size }) => sum + size, 0);
}
