/** How far the reading of a long log is, for the log of the service and for whoever asks /readyz meanwhile. */
import type { OpenLog } from '../open/open-log.ts';
import type { Logger } from './logger.ts';

type LogToRead = Pick<OpenLog, 'store' | 'lastCheckpoints' | 'rebuild'>;

/** A start that is over by then says nothing. */
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

  /** Folds the log, and says how far it is while that takes long. @throws what `rebuild` throws */
  async rebuild(): Promise<void> {
    this.#total = totalOf(this.#log);
    const say = () => {
      this.#logger.info({ records: this.#records, of: this.#total }, 'reading the log');
      timer = setTimeout(say, EVERY_MS);
    };
    let timer = setTimeout(say, FIRST_MS);
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
    // Others write meanwhile, and what was signed last can be a second old.
    const total = this.#total === undefined ? '' : ` of ${Math.max(this.#total, this.#records)}`;
    return `${this.#records}${total} records`;
  }
}

/** What the store can tell; else what this machine knows to have been signed last. */
function totalOf({ store, lastCheckpoints }: LogToRead): number | undefined {
  if (store.size) return store.size();
  const signed = lastCheckpoints?.signedBefore ?? [];
  return signed.length === 0 ? undefined : signed.reduce((sum, { size }) => sum + size, 0);
}
