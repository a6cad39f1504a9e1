/** Keeps bands in a process of its own: unlike a thread, it can have a lower priority than the service everywhere. */
import { type ChildProcess, fork } from 'node:child_process';
import { threadFile } from '../base/thread-file.ts';
import type { BandOrder, BandReply } from './band-process.ts';

/** The process ended in the middle of an order, and all bands are gone. */
export class KeeperEndedError extends Error {
  override readonly name = 'KeeperEndedError';
}

interface Waiting {
  resolve(reply: BandReply): void;
  reject(error: Error): void;
}

/** An order takes a second. A process that is stopped or hangs would hold up the bands of all studies for ever. */
const HANGS_MS = 300_000;

export class BandKeeper {
  readonly #onEnd: (how: string) => void;
  #child: ChildProcess | undefined;
  #waiting: Waiting | undefined;
  #watchdog: NodeJS.Timeout | undefined;

  /** @param onEnd the process ended although it was not stopped: all bands are gone, and the next order begins another */
  constructor(onEnd: (how: string) => void) {
    this.#onEnd = onEnd;
  }

  /** One order at a time. @throws KeeperEndedError */
  carryOut(order: BandOrder): Promise<BandReply> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      const child = this.#child ?? this.#begin();
      this.#child = child;
      // A process that is gone reports its end.
      child.send(order, () => undefined);
      this.#watchdog = setTimeout(() => child.kill('SIGKILL'), HANGS_MS).unref();
    });
  }

  /** Ends the process at once. The order that it was about is rejected. */
  stop(): void {
    const child = this.#child;
    this.#child = undefined;
    child?.kill('SIGKILL');
    this.#reject();
  }

  #begin(): ChildProcess {
    // Neither the secrets in the service's environment nor a debugger's port are its business.
    const child = fork(threadFile('band-process'), {
      ...{ env: {}, execArgv: [], serialization: 'advanced' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', ({ reply }: { reply: BandReply }) => {
      clearTimeout(this.#watchdog);
      this.#waiting?.resolve(reply);
      this.#waiting = undefined;
    });
    // A process that could not be started has no exit.
    child.on('error', (error) => this.#ended(child, error.message));
    child.on('exit', (code, signal) => this.#ended(child, signal ?? `exit code ${code}`));
    // The service may end while it keeps bands.
    child.unref();
    child.channel?.unref();
    return child;
  }

  #ended(child: ChildProcess, how: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#onEnd(how);
    this.#reject();
  }

  #reject(): void {
    clearTimeout(this.#watchdog);
    this.#waiting?.reject(new KeeperEndedError('the process that works out expected bands has ended'));
    this.#waiting = undefined;
  }
}
