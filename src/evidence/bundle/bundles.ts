/**
 * Makes bundles in the running service on request over HTTP: one at a time, and stoppable. A bundle is written to a file
 * first, because its digest is recorded before its first byte is sent. By then the file has no name any more, so that the
 * system removes it however the service ends.
 */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Content } from '../../../events/record.ts';
import { DomainError } from '../../base/errors.ts';
import { OneAtATime } from '../../base/waiting.ts';
import { StoreError } from '../../store/event-store.ts';
import { type BundleRequest, writeBundle } from './bundle.ts';

/** How many may wait for clients that read slowly. */
const MAX_HANDED_OUT = 4;

type BundlesParts = Pick<BundleRequest, 'store' | 'identity' | 'gate' | 'lastCheckpoints' | 'version'>;

interface BundleOrder {
  /** Stream of the study. */
  readonly stream: string;
  readonly content: Content;
}

interface MadeBundle {
  /** SHA-256, lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
  /** Without a name. It takes space on the disk until it is closed. */
  readonly file: Readable;
}

export class Bundles {
  readonly #parts: BundlesParts;
  readonly #making = new OneAtATime('bundle');
  #handedOut = 0;

  constructor(parts: BundlesParts) {
    this.#parts = parts;
  }

  /**
   * @param asker aborted when nobody is waiting for the bundle any more
   * @throws DomainError `overloaded` while another bundle is made, or too many are sent; `unavailable` when the log cannot be read, nobody is
   *   waiting any more, or the service is stopping
   */
  async make(order: BundleOrder, asker: AbortSignal): Promise<MadeBundle> {
    if (this.#handedOut >= MAX_HANDED_OUT)
      throw new DomainError('overloaded', 'other bundles are being sent; ask again when they have arrived');
    const made = await this.#making.run((stop) => this.#write(order, stop), asker);
    this.#handedOut++;
    made.file.once('close', () => {
      this.#handedOut--;
    });
    return made;
  }

  /** Aborts the bundle that is being made and makes no more. Resolves when it has ended. */
  stop(): Promise<void> {
    return this.#making.stop();
  }

  async #write(order: BundleOrder, stop: AbortSignal): Promise<MadeBundle> {
    const folder = await mkdtemp(join(tmpdir(), 'urn-bundle-'));
    try {
      const out = join(folder, 'bundle.zip');
      const onProgress = () => stop.throwIfAborted();
      const { sha256 } = await writeBundle({ ...this.#parts, ...order, checkpoints: [], out, onProgress });
      const handle = await open(out);
      const { size } = await handle.stat();
      return { sha256, bytes: size, file: handle.createReadStream() };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new DomainError('unavailable', 'the log cannot be read just now', error);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
