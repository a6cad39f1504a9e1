/**
 * A second pair of eyes for the start on a long log. While the records are folded from the first one on, a thread of
 * its own checks them from the last one backwards; where the two meet, what remains is checked already, and the fold
 * need only read it. Without the thread, or when it finds anything wrong, the fold checks every record itself.
 */
import { Worker } from 'node:worker_threads';
import { threadFile } from '../../base/thread-file.ts';
import type { Position } from '../event-store.ts';

/** All records from the first of these positions to the last of them have been checked. */
export interface Checked {
  readonly from: number;
  readonly to: number;
}

export class BackwardChecks {
  readonly #thread: Worker;
  readonly #ended: Promise<void>;
  #checked: Checked = { from: Number.POSITIVE_INFINITY, to: 0 };
  #stopping = false;

  constructor(file: string) {
    const thread = new Worker(threadFile('store/sqlite/checks-thread'), { workerData: { file } });
    thread.on('message', (checked: Checked) => {
      this.#checked = checked;
    });
    // Nothing depends on it: what it has not checked is checked without it.
    thread.on('error', () => undefined);
    this.#ended = new Promise((resolve) => thread.once('exit', () => resolve()));
    this.#thread = thread;
  }

  /** Whether the record at this position was checked as `checkRecord` does it. */
  cover(position: Position): boolean {
    const { from, to } = this.#checked;
    const covered = Number(position) >= from && Number(position) <= to;
    // They have met.
    if (covered) this.#ask();
    return covered;
  }

  /** Resolves when the thread has ended. */
  stop(): Promise<void> {
    this.#ask();
    return this.#ended;
  }

  #ask(): void {
    if (!this.#stopping) this.#thread.postMessage('stop');
    this.#stopping = true;
  }
}
