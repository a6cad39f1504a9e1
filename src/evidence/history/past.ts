/**
 * The past of one stream: its events from the first up to a moment, folded by the same projections that show the present.
 * Nothing is kept between questions, so each answer costs as much as reading that part of the stream.
 */
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import {
  isMoveEvent,
  NEVER_MOVED,
  nextEvent,
  type Projection,
  projectionOf,
  type Readable,
  type StreamPosition,
  shownIn,
} from '../../../projections/runner.ts';
import { RecordError } from '../../base/errors.ts';
import type { EventStore, StoredRecord } from '../../store/event-store.ts';

/** Where to read from. */
export interface LogSource {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly logId: string;
}

type Readables = Readonly<Record<string, Readable<unknown>>>;
type StateOf<R> = R extends Readable<infer Shown> ? Shown : never;

export interface Past<P extends Readables> {
  /** Revision of the last folded event; -1 if there is none. */
  readonly revision: number;
  /** `at` of that event. */
  readonly at: string | undefined;
  /** By the names given. */
  readonly states: { readonly [Name in keyof P]: StateOf<P[Name]> };
  /** The first event that was not folded; undefined if the stream ends first. */
  readonly next: LogEvent | undefined;
}

/**
 * Folds a stream from its beginning up to the first event beyond the moment. That event and all later ones are left out.
 * Every record is checked. Other work gets its turn after each page.
 *
 * @param isBeyond called for each event in order of revision
 * @param onProgress gets the number of records read so far
 * @throws StoreError; RecordError for a record that is not what it claims to be
 */
export async function foldUntil<P extends Readables>(
  { store, logId }: LogSource,
  stream: string,
  wanted: P,
  isBeyond: (event: LogEvent) => boolean,
  onProgress: (records: number) => void = () => undefined,
): Promise<Past<P>> {
  const states = new Map(
    Object.values(wanted).map((readable) => [projectionOf(readable), projectionOf(readable).initial()]),
  );
  const shown = () =>
    Object.entries(wanted).map(([name, readable]) => [
      name,
      shownIn(readable, states.get(projectionOf(readable))),
    ]);
  let last: StreamPosition & { readonly at?: string } = { revision: -1, movement: NEVER_MOVED };
  const past = (next: LogEvent | undefined): Past<P> => ({
    revision: last.revision,
    at: last.at,
    states: Object.fromEntries(shown()) as Past<P>['states'],
    next,
  });
  for await (const page of store.readStream(stream, 0)) {
    for (const stored of page) {
      const { event, movement } = nextEvent(logId, last, stored, () => decodeRecord(stored));
      if (isBeyond(event)) return past(event);
      if (!isMoveEvent(event))
        for (const [projection, state] of states)
          states.set(projection, applied(projection, state, event, stored));
      last = { revision: event.revision, at: event.at, movement };
    }
    onProgress(last.revision + 1);
    await new Promise(setImmediate);
  }
  return past(undefined);
}

function applied<S>(projection: Projection<S>, state: S, event: LogEvent, stored: StoredRecord): S {
  try {
    return projection.apply(state, event);
  } catch (error) {
    // A fold throws on events that contradict earlier ones. Its messages name no arm.
    throw new RecordError('malformed', `${stored.stream}/${stored.revision}`, (error as Error).message);
  }
}
