/** Shares out work among threads, in blocks that are numbered from 0, and finds the built programs of threads and processes. */
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

interface BlocksInThreads<Result> {
  /** The program of a thread. It gets the number of one block after the other, and answers each with its result. */
  readonly file: URL;
  /** For each thread. */
  readonly workerData: unknown;
  readonly blocks: number;
  /** By default, as many as the machine has. */
  readonly threads?: number | undefined;
  /** Gets the results in the order of the blocks, whichever thread is first. */
  onBlock(result: Result): void;
}

/** @throws what a thread or `onBlock` throws */
export async function runBlocks<Result>({
  file,
  workerData,
  blocks,
  threads = availableParallelism(),
  onBlock,
}: BlocksInThreads<Result>): Promise<void> {
  const workers = Array.from(
    { length: Math.max(1, Math.min(threads, blocks)) },
    () => new Worker(file, { workerData }),
  );
  try {
    await new Promise<void>((resolve, reject) => {
      for (const worker of workers) {
        worker.once('error', reject);
        worker.once('exit', () => reject(new Error('a thread ended before its work was done')));
      }
      let taken = 0;
      shareOut<Result>(workers, blocks, (result) => {
        try {
          onBlock(result);
        } catch (error) {
          reject(error);
        }
        if (++taken === blocks) resolve();
      });
    });
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** Blocks, for each thread, that may be under way or done before the one that is next. */
const BLOCKS_AHEAD = 4;

function shareOut<Result>(
  workers: readonly Worker[],
  blocks: number,
  onBlock: (result: Result) => void,
): void {
  const idle = [...workers];
  const done = new Map<number, { readonly result: Result }>();
  let given = 0;
  let next = 0;

  const giveOut = () => {
    while (given < Math.min(blocks, next + BLOCKS_AHEAD * workers.length)) {
      const worker = idle.pop();
      if (!worker) return;
      const block = given++;
      worker.once('message', (result: Result) => {
        idle.push(worker);
        done.set(block, { result });
        takeNext();
        giveOut();
      });
      worker.postMessage(block);
    }
  };
  const takeNext = () => {
    for (let one = done.get(next); one !== undefined; one = done.get(next)) {
      done.delete(next++);
      onBlock(one.result);
    }
  };
  giveOut();
}

const { resolve: resolveImport } = createRequire(import.meta.url);

/**
 * The program of a thread or of another process, as built. Under a test runner too: this file is TypeScript there, which
 * Node 20 cannot load.
 */
export function threadFile(
  name: 'append-thread' | 'band-process' | 'replicates-thread' | 'simulation-thread' | 'verification-thread',
): URL {
  return pathToFileURL(resolveImport(`#program/${name}.js`));
}
