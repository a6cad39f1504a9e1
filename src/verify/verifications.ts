/**
 * Verifying a study in the running service, for those who ask it over HTTP: one at a time, and so that it can be
 * stopped. It is `urn verify` without a trusted key: what the service says of itself cannot be worth more.
 */
import { DomainError } from '../base/errors.ts';
import { keptCheckpoint } from '../ledger/checkpoint-file.ts';
import { type EventStore, StoreError } from '../store/event-store.ts';
import type { Report } from './report.ts';
import type { RecordSource } from './source.ts';
import { UnknownStudyError, verifyLog } from './verify.ts';

/** What to verify, beside `log` and `access`. It can be handed to a thread. */
export interface VerificationOrder {
  /** Name of the study. */
  readonly study: string;
  /** A signed note to compare the log with. */
  readonly checkpoint?: string | undefined;
}

/**
 * Verifies the log that the service writes to.
 * @param stop rejects with its reason once it is aborted
 * @throws StoreError, UnknownStudyError
 */
export type Verify = (order: VerificationOrder, stop: AbortSignal) => Promise<Report>;

/** What reports call the checkpoint of an order. */
const GIVEN = 'checkpoint';

/** @throws UnknownStudyError, and whatever the source or `onProgress` throws */
export function verifyStudy(
  source: RecordSource,
  { study, checkpoint }: VerificationOrder,
  onProgress: () => void,
): Promise<Report> {
  const given = checkpoint === undefined ? [] : [keptCheckpoint(checkpoint, GIVEN)];
  const checkpoints = given.map((one) => {
    if ('why' in one) throw new TypeError(`the order holds no checkpoint: ${one.why}`);
    return one;
  });
  return verifyLog({ source, trusted: [], checkpoints, studies: [study], onProgress });
}

/** Without a thread, between other work: a page of records holds up what else there is to do. */
export function verifyInStore(store: Pick<EventStore, 'readAll' | 'readStream'>): Verify {
  return async (order, stop) =>
    verifyStudy(await storeSource(store), order, () => {
      stop.throwIfAborted();
    });
}

/** A store's records, as far as they stand there now: what is appended later is left out of all streams alike. */
export async function storeSource(store: Pick<EventStore, 'readAll' | 'readStream'>): Promise<RecordSource> {
  const ends = new Map<string, number>();
  // Whoever reads such a stream is told then.
  const onBroken = (stream: string) => void ends.set(stream, Number.POSITIVE_INFINITY);
  for await (const page of store.readAll(undefined, { onBroken }))
    for (const { stream, revision } of page) ends.set(stream, revision);
  return {
    streams: async () => [...ends.keys()],
    async *read(stream) {
      const end = ends.get(stream) ?? -1;
      for await (const page of store.readStream(stream, 0)) {
        yield page.filter(({ revision }) => revision <= end);
        await new Promise(setImmediate);
      }
    },
  };
}

export class Verifications {
  readonly #verify: Verify;
  #underWay: { readonly stopping: AbortController; readonly ended: Promise<unknown> } | undefined;
  #isStopped = false;

  constructor(verify: Verify) {
    this.#verify = verify;
  }

  /**
   * @param asker aborted when nobody waits for the report any more
   * @throws DomainError `overloaded` while another one is under way; `unavailable` when the log cannot be read, nobody
   *   waits any more, or the service stops; `halted` when the log cannot be read to its end
   */
  async run(order: VerificationOrder, asker: AbortSignal): Promise<Report> {
    if (this.#isStopped) throw stopped();
    if (this.#underWay)
      throw new DomainError(
        'overloaded',
        'another verification is under way, and there is one at a time; ask again when it is done',
      );
    const stopping = new AbortController();
    const running = this.#verify(order, AbortSignal.any([asker, stopping.signal]));
    this.#underWay = { stopping, ended: running.catch(() => undefined) };
    try {
      return await running;
    } catch (error) {
      if (stopping.signal.aborted) throw stopped();
      if (asker.aborted) throw new DomainError('unavailable', 'nobody waits for the verification any more');
      throw asDomainError(error);
    } finally {
      this.#underWay = undefined;
    }
  }

  /** Breaks off the one that is under way, and begins no other. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#underWay?.stopping.abort();
    await this.#underWay?.ended;
  }
}

function stopped(): DomainError {
  return new DomainError('unavailable', 'the service is shutting down');
}

function asDomainError(error: unknown): unknown {
  // The service has folded the study, and the log lacks it.
  if (error instanceof UnknownStudyError)
    return new DomainError('halted', 'the records of this study are no longer in the log', error);
  if (!(error instanceof StoreError)) return error;
  return error.failure === 'corrupt'
    ? new DomainError(
        'halted',
        'the log cannot be read to its end (its operator finds the reason with: urn verify)',
        error,
      )
    : new DomainError('unavailable', 'the log cannot be read just now', error);
}
