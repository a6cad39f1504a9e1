/** Keeps bands in a process of its own: unlike a thread, it can have a lower priority than the service everywhere. */
import { type ChildProcess, fork } from 'node:child_process';
import { threadFile } from '../../base/threads.ts';
import type { BandOrder, BandReply } from './band-process.ts';

/** The process ended during an order, and all bands are gone. */
export class KeeperEndedError extends Error {
  override readonly name = 'KeeperEndedError';
}

interface Waiting {
  resolve(reply: BandReply): void;
  reject(error: Error): void;
}

/** An order takes a second. A process that is stopped or hangs would hold up the bands of all studies forever. */
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

  /** Ends the process immediately. The order in progress is rejected. */
  stop(): void {
    const child = this.#child;
    this.#child = undefined;
    child?.kill('SIGKILL');
    this.#reject();
  }

  #begin(): ChildProcess {
    // It gets neither the secrets in the service's environment nor a debugger's port.
    const child = fork(threadFile('band-process'), {
      ...{ env: {}, execArgv: [], serialization: 'advanced' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', ({ reply }: { reply: BandReply }) => {
      clearTimeout(this.#watchdog);
      this.#waiting?.resolve(reply);
      this.#waiting = undefined;
    });
    // A process that could not be started emits no exit event.
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
