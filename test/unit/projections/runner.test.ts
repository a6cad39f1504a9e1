import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { Fact } from '../../../events/catalogue.ts';
import { decodeRecord, type LogEvent, type RecordBytes } from '../../../events/record.ts';
import { access } from '../../../projections/access.ts';
import { Runner } from '../../../projections/runner.ts';
import { decide } from '../../../src/core/study/decide.ts';
import { balance, participants, studyConfig, studyState } from '../../../src/core/study/fold.ts';
import type { Position, StoredRecord, Subscriber, Subscription } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { altered } from '../../support/altered-record.ts';
import {
  ASKED,
  OPERATOR,
  paused,
  randomize,
  randomized,
  registered,
  resumed,
  STREAM,
  stored,
} from '../../support/facts.ts';
import { fixedId, LOG_ID } from '../../support/fixed-tools.ts';
import { check } from '../../support/property.ts';

const OTHER_STUDY = 'study-0000';
const STREAMS = ['access', STREAM, OTHER_STUDY];
const PROJECTIONS = [access, studyConfig, participants, studyState];

/** A store whose subscription delivers when the test says so, and as much as it says. */
class SteppedStore extends MemoryStore {
  /** Where reading began: stream and revision, or a position of the whole log. */
  readonly readFrom: string[] = [];
  #subscriber: Subscriber | undefined;
  #position: Position | undefined;

  override readStream(stream: string, fromRevision: number): AsyncIterable<readonly StoredRecord[]> {
    this.readFrom.push(`${stream}/${fromRevision}`);
    return super.readStream(stream, fromRevision);
  }

  override subscribe(after: Position | undefined, subscriber: Subscriber): Subscription {
    this.readFrom.push(`all/${after}`);
    this.#subscriber = subscriber;
    this.#position = after;
    return { close: () => (this.#subscriber = undefined) };
  }

  /** Delivers the next records of the log, `count` at the most. */
  async deliver(count: number): Promise<void> {
    const next: StoredRecord[] = [];
    for await (const page of this.readAll(this.#position)) next.push(...page);
    const page = next.slice(0, count);
    this.#position = page.at(-1)?.position ?? this.#position;
    if (page.length > 0) this.#subscriber?.onRecords(page);
    if (page.length === next.length) this.#subscriber?.onCaughtUp();
  }
}

/** The n-th fact of a stream, as it might be. */
function factOf(stream: string, revision: number): Fact {
  if (stream === 'access')
    return {
      type: 'ApiKeyIssued',
      data: { keyId: `k${revision}`, user: 'nurse', scopes: ['read'] },
      sections: { credential: { sha256: revision.toString(16).padStart(64, '0') } },
    };
  if (revision === 0) return registered();
  return revision % 5 === 3 ? paused : revision % 5 === 4 ? resumed : randomized(`${revision}`);
}

/** Writes the next record of a stream, as whatever process; returns the event and its record. */
async function write(store: MemoryStore, stream: string, revision: number): Promise<[LogEvent, RecordBytes]> {
  const record = stored(factOf(stream, revision), revision, { stream, actor: OPERATOR });
  expect(await store.append(stream, revision - 1, [record])).toEqual({ type: 'written' });
  return [decodeRecord(record), record];
}

const accept = (runner: Runner, [event, record]: [LogEvent, RecordBytes]) => runner.accept([event], [record]);

async function written(revisions: Partial<Record<string, number>>): Promise<SteppedStore> {
  const store = new SteppedStore();
  for (const [stream, count = 0] of Object.entries(revisions))
    for (let revision = 0; revision < count; revision++) await write(store, stream, revision);
  return store;
}

const newRunner = (store: MemoryStore, hooks = {}) => new Runner(store, LOG_ID, PROJECTIONS, hooks);

/** All that a runner shows, and what it would decide next. */
function shown(runner: Runner): unknown {
  return STREAMS.map((stream) => ({
    revision: runner.revision(stream),
    access: runner.state(access, stream),
    config: runner.state(studyConfig, stream),
    participants: runner.state(participants, stream).inOrder,
    balance: runner.state(balance, stream)?.view(),
    next: decide(runner.state(studyState, stream), randomize('next'), ASKED),
    taken: decide(runner.state(studyState, stream), randomize('1'), ASKED),
    halted: runner.halted(stream)?.message,
  }));
}

async function rebuilt(store: MemoryStore): Promise<Runner> {
  const runner = newRunner(store);
  await runner.rebuild();
  return runner;
}

describe('a runner', () => {
  it('knows nothing about streams that it has not read', () => {
    const runner = newRunner(new MemoryStore());
    expect(runner.streams()).toEqual([]);
    expect(runner.revision(STREAM)).toBe(-1);
    expect(runner.state(participants, STREAM).isEmpty()).toBe(true);
    expect(runner.halted(STREAM)).toBeUndefined();
    expect(runner.lagSeconds()).toBe(-1);
  });

  it('rebuilds from the whole log, each study by itself, and reports how far it is', async () => {
    const store = await written({ access: 3, [STREAM]: 8, [OTHER_STUDY]: 2 });
    const runner = newRunner(store);
    const progress: number[] = [];
    await runner.rebuild((records) => progress.push(records));
    expect(progress.at(-1)).toBe(13);
    expect(runner.streams()).toEqual(STREAMS);
    expect(STREAMS.map((stream) => runner.revision(stream))).toEqual([2, 7, 1]);
    expect(STREAMS.map((stream) => runner.state(participants, stream).inOrder.length)).toEqual([0, 5, 1]);
    expect(runner.lagSeconds()).toBeGreaterThanOrEqual(0);
  });

  it('follows new events from where the rebuild ended, or everything if there was none', async () => {
    const store = await written({ [STREAM]: 3 });
    const late = newRunner(store);
    await late.catchUp(STREAM);
    late.follow();
    await store.deliver(Number.POSITIVE_INFINITY);
    expect(shown(late)).toEqual(shown(await rebuilt(store)));
    const runner = await rebuilt(store);
    runner.follow();
    expect(store.readFrom.slice(-1)).toEqual(['all/2']);
    runner.stop();
    await write(store, STREAM, 3);
    await store.deliver(Number.POSITIVE_INFINITY);
    expect(runner.revision(STREAM)).toBe(2);
  });

  it('catches up with a single stream from where it was', async () => {
    const store = await written({ [STREAM]: 4, [OTHER_STUDY]: 2 });
    const runner = newRunner(store);
    await runner.catchUp(STREAM);
    expect(runner.revision(STREAM)).toBe(3);
    await runner.catchUp(STREAM);
    expect(store.readFrom).toEqual([`${STREAM}/0`, `${STREAM}/4`]);
    expect(runner.revision(OTHER_STUDY)).toBe(-1);
    await runner.catchUp('study-that-is-not-there');
    expect(runner.streams()).toEqual([STREAM]);
  });

  it('accepts what this process has written once, and tells listeners until they unsubscribe', async () => {
    const store = await written({ [STREAM]: 1, [OTHER_STUDY]: 1 });
    const runner = newRunner(store);
    const heard: string[] = [];
    const stop = runner.listen(STREAM, ({ type, revision }) => heard.push(`${revision} ${type}`));
    await runner.rebuild();
    const next = await write(store, STREAM, 1);
    accept(runner, next);
    accept(runner, next);
    await runner.catchUp(STREAM);
    expect(heard).toEqual(['0 StudyRegistered', '1 ParticipantRandomized']);
    expect(shown(runner)).toEqual(shown(await rebuilt(store)));
    stop();
    accept(runner, await write(store, STREAM, 2));
    expect(heard).toHaveLength(2);
  });
});

type Step =
  | { readonly do: 'write' | 'write and accept' | 'catch up'; readonly stream: string }
  | { readonly do: 'deliver'; readonly count: number };

const act = fc.constantFrom('write' as const, 'write and accept' as const, 'catch up' as const);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: act, stream: fc.constantFrom(...STREAMS) }),
  fc.record({ do: fc.constant('deliver' as const), count: fc.integer({ min: 1, max: 4 }) }),
);
const steps = (maxLength: number) => fc.array(step, { maxLength });

it('however events arrive, by rebuild, following, catching up or acceptance, the states equal those of a fresh rebuild', async () => {
  await check(
    fc.asyncProperty(steps(15), steps(25), async (before, after) => {
      const store = new SteppedStore();
      const runner = newRunner(store);
      const heard: string[] = [];
      for (const stream of STREAMS)
        runner.listen(stream, (event) => heard.push(`${event.stream}/${event.revision}`));
      const next = new Map(STREAMS.map((stream) => [stream, 0]));
      const take = async (all: readonly Step[]) => {
        for (const current of all) {
          if (current.do === 'deliver') await store.deliver(current.count);
          else if (current.do === 'catch up') await runner.catchUp(current.stream);
          else {
            const revision = next.get(current.stream) ?? 0;
            const one = await write(store, current.stream, revision);
            next.set(current.stream, revision + 1);
            // A writer knows everything that comes before what it has written.
            if (current.do === 'write and accept' && runner.revision(current.stream) === revision - 1)
              accept(runner, one);
          }
        }
      };
      await take(before);
      await runner.rebuild();
      runner.follow();
      await take(after);
      await store.deliver(Number.POSITIVE_INFINITY);

      expect(shown(runner)).toEqual(shown(await rebuilt(store)));
      for (const stream of STREAMS)
        expect(heard.filter((place) => place.startsWith(`${stream}/`))).toEqual(
          Array.from({ length: next.get(stream) ?? 0 }, (_, revision) => `${stream}/${revision}`),
        );
    }),
  );
});

describe('only the stream concerned is halted by', () => {
  /** A pause as another build would have written it. */
  const pausedAs = (members: object) =>
    altered(stored(paused, 2), (record) => Object.assign(record, members));
  const cases: [string, ReturnType<typeof stored>, string][] = [
    ['an unknown type of event', pausedAs({ type: 'StudyArchived' }), 'StudyArchived@1 is unknown to'],
    ['an unknown version', pausedAs({ version: 2 }), 'StudyPaused@2 is unknown'],
    ['a record that was changed', { ...stored(paused, 2), leaf: Buffer.alloc(32) }, 'was changed'],
    ['a record of another log', stored(paused, 2, { log: fixedId(9) }), 'belongs to another log'],
    ['a record of another place', stored(paused, 7), `says that it is ${STREAM}/7`],
    ['a fact that contradicts those before it', stored(randomized('1'), 2), 'randomized twice'],
  ];

  it.each(cases)('%s', async (_, record, why) => {
    const store = await written({ [STREAM]: 2, [OTHER_STUDY]: 2 });
    await store.append(STREAM, 1, [record]);
    await write(store, STREAM, 3);
    await write(store, OTHER_STUDY, 2);
    const onHalted = vi.fn();
    const runner = newRunner(store, { onHalted });
    await runner.rebuild();

    expect(runner.halted(STREAM)?.message).toContain(why);
    expect(onHalted).toHaveBeenCalledExactlyOnceWith(STREAM, runner.halted(STREAM));
    expect(runner.revision(STREAM)).toBe(1);
    expect(runner.halted(OTHER_STUDY)).toBeUndefined();
    expect(runner.revision(OTHER_STUDY)).toBe(2);

    await runner.catchUp(STREAM);
    runner.follow();
    await write(store, STREAM, 4);
    await write(store, OTHER_STUDY, 3);
    await store.deliver(Number.POSITIVE_INFINITY);
    expect(runner.revision(STREAM)).toBe(1);
    expect(runner.revision(OTHER_STUDY)).toBe(3);
    expect(onHalted).toHaveBeenCalledOnce();
  });

  it('a gap', async () => {
    const store = await written({ [STREAM]: 2, [OTHER_STUDY]: 2 });
    const runner = await rebuilt(store);
    await write(store, STREAM, 2);
    accept(runner, await write(store, STREAM, 3));
    expect(runner.halted(STREAM)?.message).toContain(`${STREAM}/3: follows revision 1: records are missing`);
    expect(runner.revision(STREAM)).toBe(1);
    expect(runner.halted(OTHER_STUDY)).toBeUndefined();
  });

  it('a name of a kind that this build does not know', async () => {
    const store = await written({ [STREAM]: 1 });
    await store.append('operations', -1, [stored(paused, 0, { stream: 'operations' })]);
    const runner = await rebuilt(store);
    expect(runner.halted('operations')?.message).toContain('does not belong in this stream');
    expect(runner.revision(STREAM)).toBe(0);
  });

  it('reaches a revision at once, by reading the tail, or when the event arrives, but waits no longer', async () => {
    const store = await written({ [STREAM]: 3 });
    const runner = await rebuilt(store);
    expect(await runner.reach(STREAM, 2, 0)).toBe(true);
    expect(await runner.reach(STREAM, 3, 5)).toBe(false);
    expect(await runner.reach('study-of-nobody', 0, 5)).toBe(false);
    await write(store, STREAM, 3);
    expect(await runner.reach(STREAM, 3, 0)).toBe(true);
    const waiting = runner.reach(STREAM, 5, 60_000);
    let reached = false;
    void waiting.then(() => (reached = true));
    accept(runner, await write(store, STREAM, 4));
    await new Promise(setImmediate);
    expect(reached).toBe(false);
    accept(runner, await write(store, STREAM, 5));
    expect(await waiting).toBe(true);
  });
});
