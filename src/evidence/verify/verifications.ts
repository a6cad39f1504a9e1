/**
 * Verifies a study in the running service on request over HTTP: one at a time, and stoppable. It does what `urn verify`
 * does without a trusted key, because a service's word about itself cannot prove more.
 */
import { DomainError } from '../../base/errors.ts';
import { OneAtATime } from '../../base/waiting.ts';
import { keptCheckpoint } from '../../core/log/formats.ts';
import { type EventStore, StoreError } from '../../store/event-store.ts';
import type { Report } from './report/report.ts';
import type { RecordSource } from './source.ts';
import { UnknownStudyError, verifyLog } from './verify.ts';

/** What to verify in addition to `log` and `access`. Can be passed to a thread. */
export interface VerificationOrder {
  /** Name of the study. */
  readonly study: string;
  /** A signed note to compare the log with. */
  readonly checkpoint?: string | undefined;
}

/**
 * Verifies the log that the service writes to.
 * @param stop when it is aborted, the promise rejects with its reason
 * @param onProgress gets the number of records verified so far, of all streams
 * @throws StoreError, UnknownStudyError
 */
export type Verify = (
  order: VerificationOrder,
  stop: AbortSignal,
  onProgress: (records: number) => void,
) => Promise<Report>;

/** How reports refer to the checkpoint of an order. */
const GIVEN = 'checkpoint';

/** @throws UnknownStudyError, and what the source or `onProgress` throws */
export function verifyStudy(
  source: RecordSource,
  { study, checkpoint }: VerificationOrder,
  onProgress: (records: number) => void,
): Promise<Report> {
  const given = checkpoint === undefined ? [] : [keptCheckpoint(checkpoint, GIVEN)];
  const checkpoints = given.map((one) => {
    if ('why' in one) throw new TypeError(`the order holds no valid checkpoint: ${one.why}`);
    return one;
  });
  return verifyLog({ source, trusted: [], checkpoints, studies: [study], onProgress });
}

/** Verifies without a thread. Each page of records delays everything else in the process. */
export function verifyInStore(store: Pick<EventStore, 'readAll' | 'readStream'>): Verify {
  return async (order, stop, onProgress) =>
    verifyStudy(await storeSource(store), order, (records) => {
      stop.throwIfAborted();
      onProgress(records);
    });
}

/** The records that are in the store now. Records appended later are left out of every stream. */
export async function storeSource(store: Pick<EventStore, 'readAll' | 'readStream'>): Promise<RecordSource> {
  const ends = new Map<string, number>();
  // Reading such a stream reports the reason.
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
  readonly #one = new OneAtATime('verification');
  /** The study that is being verified. */
  #underWay: { readonly study: string; records: number } | undefined;

  constructor(verify: Verify) {
    this.#verify = verify;
  }

  /**
   * @param asker aborted when nobody is waiting for the report any more
   * @throws DomainError `overloaded` while another verification is under way; `unavailable` when the log cannot be read,
   *   nobody is waiting any more, or the service is stopping; `halted` when the log cannot be read to its end
   */
  async run(order: VerificationOrder, asker: AbortSignal): Promise<Report> {
    try {
      return await this.#one.run((stop) => this.#verified(order, stop), asker);
    } catch (error) {
      throw asDomainError(error);
    }
  }

  /** How many records have been verified, if a verification of the study is under way. */
  progressOf(study: string): number | undefined {
    return this.#underWay?.study === study ? this.#underWay.records : undefined;
  }

  async #verified(order: VerificationOrder, stop: AbortSignal): Promise<Report> {
    const underWay = { study: order.study, records: 0 };
    this.#underWay = underWay;
    try {
      return await this.#verify(order, stop, (records) => {
        underWay.records = records;
      });
    } finally {
      this.#underWay = undefined;
    }
  }

  /** Aborts the verification that is under way and starts no more. Resolves when it has ended. */
  stop(): Promise<void> {
    return this.#one.stop();
  }
}

function asDomainError(error: unknown): unknown {
  // The service has folded the study, but the log no longer holds it.
  if (error instanceof UnknownStudyError)
    return new DomainError('halted', 'the records of this study are no longer in the log', error);
  if (!(error instanceof StoreError)) return error;
  return error.failure === 'corrupt'
    ? new DomainError(
        'halted',
        'the log cannot be read to its end (ask the operator, who finds the reason by verifying the log)',
        error,
      )
    : new DomainError('unavailable', 'the log cannot be read just now', error);
}
