/** Appending to an EventStoreDB that misbehaves. Always on the server of the tests, which does so on demand. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { RecordBytes } from '../../../events/record.ts';
import { isAway, NO_STREAM } from '../../../src/store/event-store.ts';
import type { AppendFault } from '../../support/eventstoredb/faults.ts';
import { eventStoreDbScene, failureOf, PATIENT, QUICK } from '../../support/eventstoredb/scene.ts';
import { readAll, readStream, records, texts } from '../../support/store-contract.ts';

const WRITTEN = { type: 'written' };
const CONFLICT = { type: 'conflict' };
const scene = eventStoreDbScene();

async function open() {
  const server = await scene.server();
  return { server, store: scene.store(server) };
}

describe('an append', () => {
  it.each<[AppendFault, boolean]>([
    ['writes-and-drops', true],
    ['drops', false],
    ['writes-and-never-answers', true],
    ['never-answers', false],
    ['times-out', true],
    ['fails', false],
    [{ lateMs: 1700 }, false],
  ])(
    'that meets %j is reported as unclear in time, and written once if it is sent again',
    async (fault, isWritten) => {
      const { server, store } = await open();
      server.appends.next(fault);
      const began = performance.now();
      const { outcome, failure } = await failureOf(store.append('study-a', NO_STREAM, records('a', 2)));
      expect({ outcome, failure }).toEqual({ outcome: 'unclear', failure: 'unavailable' });
      expect(performance.now() - began).toBeLessThan(4000);
      expect(server.log.all).toHaveLength(isWritten ? 2 : 0);
      expect(await store.append('study-a', NO_STREAM, records('a', 2))).toEqual(WRITTEN);
      await delay(1000);
      expect(texts(await readAll(store))).toEqual(['a0', 'a1']);
    },
  );

  it('without an answer can land later: the same one is written, and another one is a conflict', async () => {
    const { server, store } = await open();
    server.appends.next('lands-late');
    expect((await failureOf(store.append('study-a', NO_STREAM, records('a', 1)))).outcome).toBe('unclear');
    expect(await readAll(store)).toEqual([]);
    server.landLate();
    expect(await store.append('study-a', NO_STREAM, records('b', 1))).toEqual(CONFLICT);
    expect(await store.append('study-a', NO_STREAM, records('a', 1))).toEqual(WRITTEN);
    expect(texts(await readAll(store))).toEqual(['a0']);
  });

  it.each<AppendFault>(['none', 'drops-repeated'])(
    'that is sent again while the first is under way waits for it, since a cluster would call it a conflict or drop it: %s',
    async (repeated) => {
      const server = await scene.server();
      const store = scene.store(server, { limits: PATIENT });
      server.appends.next({ lateMs: 200 }, repeated, repeated);
      const appends = [1, 2].map(() => store.append('study-a', NO_STREAM, records('a', 2)));
      const other = store.append('study-a', NO_STREAM, records('b', 2));
      expect(await Promise.all([...appends, other])).toEqual([WRITTEN, WRITTEN, CONFLICT]);
      expect(texts(await readAll(store))).toEqual(['a0', 'a1']);
    },
  );

  it('of another process in its place is a conflict when it can be read, and unclear before', async () => {
    const { server, store } = await open();
    const other = scene.store(server, { limits: PATIENT });
    server.appends.next('under-way');
    const theirs = other.append('study-a', NO_STREAM, records('b', 1));
    await vi.waitFor(() => expect(server.received).toHaveLength(1), 5000);
    const error = await failureOf(store.append('study-a', NO_STREAM, records('a', 1)));
    expect([error.outcome, error.message]).toEqual([
      'unclear',
      expect.stringContaining('is under way, and cannot be read yet'),
    ]);
    server.landLate();
    expect(await store.append('study-a', NO_STREAM, records('a', 1))).toEqual(CONFLICT);
    expect(await theirs).toEqual(WRITTEN);
  });

  it('always names the exact expected revision', async () => {
    const { server, store } = await open();
    await store.append('study-a', NO_STREAM, records('a', 2));
    await store.append('study-a', 1, records('b', 1));
    expect(server.received.map(({ stream, expected }) => [stream, expected])).toEqual([
      ['urn.study-a', -1],
      ['urn.study-a', 1],
    ]);
  });

  it('is a conflict only if the stored bytes differ: that is looked up, because the server compares ids, and unclear until it is', async () => {
    const { server, store } = await open();
    await store.append('study-a', NO_STREAM, records('a', 2));
    // The same bytes under other ids, as another tool would have copied them.
    const there = server.log.visible('urn.study-a') ?? [];
    const copied = there.map((event) => ({ ...event, id: crypto.randomUUID() }));
    server.log.append('urn.study-b', NO_STREAM, copied);
    expect(await store.append('study-b', NO_STREAM, records('a', 2))).toEqual(WRITTEN);
    expect(await store.append('study-b', NO_STREAM, records('a', 1))).toEqual(WRITTEN);
    expect(await store.append('study-b', NO_STREAM, records('a', 3))).toEqual(CONFLICT);
    server.reads.always = 'fails';
    expect((await failureOf(store.append('study-b', NO_STREAM, records('b', 1)))).outcome).toBe('unclear');
  });

  it('with the same bytes has the same id, and with any others a different one', async () => {
    const { server, store } = await open();
    const [one] = records('a', 1);
    if (!one) throw new Error('one record');
    const others: RecordBytes[] = [
      one,
      { ...one, record: Buffer.from('a1') },
      { ...one, sealed: Buffer.from('other') },
      { ...one, leaf: Buffer.alloc(32, 9) },
    ];
    for (const [i, other] of others.entries()) await store.append(`study-${i}`, NO_STREAM, [other]);
    await store.append('study-0', 0, [one]);
    const ids = server.log.all.map(({ id }) => id);
    expect(new Set(ids).size).toBe(5);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const again = scene.store(server, { prefix: 'again' });
    await again.append('study-0', NO_STREAM, [one]);
    expect(server.log.all.at(-1)?.id).toBe(ids[0]);
  });

  it('names the record’s type for people who look into the server, but no type that means something to it', async () => {
    const { server, store } = await open();
    const said = ['{"type":"StudyPaused"}', '{"type":"$>"}', '{"type":7}', 'null', 'no JSON', ''];
    await store.append(
      'study-a',
      NO_STREAM,
      said.map((text) => ({ record: Buffer.from(text), sealed: Buffer.from(''), leaf: Buffer.alloc(32) })),
    );
    expect(server.log.all.map(({ type }) => type)).toEqual(['StudyPaused', ...Array(5).fill('record')]);
    expect(texts(await readStream(store, 'study-a'))).toEqual(said);
  });

  it('that is too large for the server, as a whole or in one event, is not written, and the message says what to do', async () => {
    const server = await scene.server({ maxAppendBytes: 1000 });
    const store = scene.store(server);
    const large = records('a', 1).map((one) => ({ ...one, record: Buffer.alloc(2000) }));
    const whole = await failureOf(store.append('study-a', NO_STREAM, large));
    expect([whole.outcome, whole.message]).toEqual([
      'not-written',
      expect.stringMatching(/Maximum Append Size of 1000 Exceeded.*MaxAppendSize/),
    ]);
    server.appends.next('event-too-large');
    const event = await failureOf(store.append('study-a', NO_STREAM, records('a', 1)));
    expect([event.outcome, event.message]).toEqual([
      'not-written',
      expect.stringContaining('MaxAppendEventSize'),
    ]);
  });

  it.each<[AppendFault, string]>([
    ['not-ready', 'is starting'],
    ['knows-no-user', 'is starting'],
    ['no-leader', 'has no reachable leader'],
  ])('to a node that says %j is sent again', async (fault, hint) => {
    const { server, store } = await open();
    server.appends.next(fault);
    expect(await store.append('study-a', NO_STREAM, records('a', 1))).toEqual(WRITTEN);
    server.appends.always = fault;
    const error = await failureOf(store.append('study-a', 0, records('b', 1)));
    expect([error.outcome, error.message]).toEqual(['not-written', expect.stringContaining(hint)]);
  });

  it('to a server that does not exist is certainly not written, and the message says what to check', async () => {
    const { server, store } = await open();
    await server.stop();
    const nowhere = scene.store(server, { at: 'esdb://nowhere.invalid:2113?tls=false' });
    for (const [to, why] of [
      [store, /127\.0\.0\.1:\d+ .*ECONNREFUSED.*hint: check that the server runs, and that host/],
      [nowhere, /Name resolution failed.*hint: check that the server runs, and that host and port/],
    ] as const) {
      const error = await failureOf(to.append('study-a', NO_STREAM, records('a', 1)));
      expect([error.outcome, error.failure, isAway(error)]).toEqual(['not-written', 'unavailable', true]);
      expect(error.message).toMatch(why);
    }
    await server.start();
    expect(await store.append('study-a', NO_STREAM, records('a', 1))).toEqual(WRITTEN);
  });

  it('waits for a server that comes back within the limit', async () => {
    const server = await scene.server();
    const store = scene.store(server, { limits: { ...QUICK, appendTimeoutMs: 4000 } });
    await store.append('study-a', NO_STREAM, records('a', 1));
    await server.stop();
    const append = () => store.append('study-a', 0, records('b', 1));
    // The first may still have met the connection that broke.
    const result = append().catch(append);
    await delay(300);
    await server.start();
    expect(await result).toEqual(WRITTEN);
    expect(texts(await readAll(store))).toEqual(['a0', 'b0']);
  });

  it('to a server that accepts the connection and does not answer ends within the limit', async () => {
    const { server, store } = await open();
    server.hangs = true;
    const asked = [store.append('study-a', NO_STREAM, records('a', 1)), readAll(store)];
    for (const { failure } of await Promise.all(asked.map(failureOf))) expect(failure).toBe('unavailable');
  });

  it('without an answer does not hold up other streams', async () => {
    const { server, store } = await open();
    server.appends.next('never-answers');
    const first = failureOf(store.append('study-a', NO_STREAM, records('a', 1)));
    await delay(100);
    expect(await store.append('study-b', NO_STREAM, records('b', 1))).toEqual(WRITTEN);
    expect((await first).outcome).toBe('unclear');
  });
});

it.each([
  ['one node is named', (port: number) => `esdb://127.0.0.1:${port}?tls=false`],
  ['two are', (port: number, leader: number) => `esdb://127.0.0.1:${port},127.0.0.1:${leader}?tls=false`],
  ['the cluster is', (port: number) => `esdb+discover://127.0.0.1:${port}?tls=false`],
])('a follower node forwards appends and reads to the leader if %s', async (_, addressOf) => {
  const leader = await scene.server();
  const follower = await scene.server({ log: leader.log });
  follower.leader = leader;
  const limits = { ...QUICK, appendTimeoutMs: 3000, readTimeoutMs: 3000 };
  const store = scene.store(follower, { at: addressOf(follower.port, leader.port), limits });
  expect(await store.append('study-a', NO_STREAM, records('a', 2))).toEqual(WRITTEN);
  expect(texts(await readAll(store))).toEqual(['a0', 'a1']);
  expect(follower.received).toEqual([]);
  expect(leader.received).toHaveLength(1);
});

describe('a cluster in which no node can be found', () => {
  it('accepts nothing and reports it in time, and continues when there is a node', async () => {
    const node = await scene.server();
    const at = `esdb://127.0.0.1:${node.port},127.0.0.1:1?tls=false`;
    await node.stop();
    const store = scene.store(node, { at, limits: { ...QUICK, appendTimeoutMs: 2500 } });
    const heard = scene.listen(store);
    const began = performance.now();
    const error = await failureOf(store.append('study-a', NO_STREAM, records('a', 1)));
    expect(error.failure).toBe('unavailable');
    expect(error.message).toMatch(/Failed to discover|no answer/);
    expect(performance.now() - began).toBeLessThan(5000);
    expect(heard.errors.length).toBeGreaterThan(0);
    await node.start();
    expect(await store.append('study-a', NO_STREAM, records('a', 1))).toEqual(WRITTEN);
    await heard.until(1);
  });

  it('does not end the process if an earlier call fails while nodes are being discovered', async () => {
    const node = await scene.server();
    const at = `esdb://127.0.0.1:${node.port},127.0.0.1:1?tls=false`;
    const store = scene.store(node, { at, limits: { ...QUICK, appendTimeoutMs: 2500, probeMs: 10_000 } });
    const heard = scene.listen(store);
    await heard.untilCaughtUp();
    await store.append('study-a', NO_STREAM, records('a', 1));
    await heard.until(1);
    // The append makes the client look for another node, which it cannot find; then the subscription breaks.
    node.appends.next('not-ready');
    node.closeDoor();
    const append = failureOf(store.append('study-a', 0, records('b', 1)));
    await delay(400);
    node.dropConnections();
    expect((await append).outcome).toBe('not-written');
    await node.stop();
    await node.start();
    expect(await store.append('study-a', 0, records('b', 1))).toEqual(WRITTEN);
  });
});

describe('close', () => {
  it('waits for a server that does not answer no longer than for one append', async () => {
    const { server, store } = await open();
    server.appends.always = 'never-answers';
    const appends = [-1, 0, 1].map((i) => failureOf(store.append('study-a', i, records(`a${i}`, 1))));
    const began = performance.now();
    await store.close();
    expect(performance.now() - began).toBeLessThan(5000);
    const outcomes = (await Promise.all(appends)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['unclear', 'unclear', 'unclear']);
  });

  it('leaves no connection open, and makes the store refuse further work', async () => {
    const { server, store } = await open();
    scene.listen(store);
    await store.append('study-a', NO_STREAM, records('a', 1));
    expect(server.connections).toBe(1);
    await store.close();
    await vi.waitFor(() => expect(server.connections).toBe(0), 3000);
    const error = await failureOf(store.append('study-a', 0, records('b', 1)));
    expect([error.outcome, error.message]).toEqual(['not-written', 'the store is closed']);
  });
});
