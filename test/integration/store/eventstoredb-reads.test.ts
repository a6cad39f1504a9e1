/** Reading and following an EventStoreDB that misbehaves, or whose streams were tampered with. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { NO_STREAM, PAGE_RECORDS } from '../../../src/store/event-store.ts';
import { READ_EVENTS } from '../../../src/store/eventstoredb/reader.ts';
import type { EventStoreDbStore } from '../../../src/store/eventstoredb/store.ts';
import type { SubscriptionFault } from '../../support/eventstoredb/faults.ts';
import { jsonEvent, type ServerLog } from '../../support/eventstoredb/log.ts';
import { eventStoreDbScene, failureOf, PATIENT, QUICK } from '../../support/eventstoredb/scene.ts';
import { lines, readAll, readStream, records, texts } from '../../support/store-contract.ts';

const scene = eventStoreDbScene();

/** @param limits QUICK where something has to time out */
async function open(limits = PATIENT) {
  const server = await scene.server();
  return { server, store: scene.store(server, { limits }) };
}

/** Appends `count` records, one at a time. */
async function appendTo(store: EventStoreDbStore, stream: string, from: number, count: number) {
  for (let i = from; i < from + count; i++) await store.append(stream, i - 1, records(`${stream}-${i}-`, 1));
}

/** Events of another program. */
function crowd(log: ServerLog, count: number): void {
  for (let i = 0; i < count; i++)
    log.append(`other-${i % 7}`, Math.floor(i / 7) - 1, [jsonEvent('Other', '{}')]);
}

const CORRUPT = {
  failure: 'corrupt',
  message: expect.stringMatching(/study-a are missing .*hint: .*\$maxCount/),
};

describe('a stream whose first records were truncated', () => {
  it.each<[string, (log: ServerLog) => void]>([
    ['by $maxCount', (log) => log.setMetadata('urn.study-a', { $maxCount: 2 })],
    ['by $tb', (log) => log.setMetadata('urn.study-a', { $tb: 3 })],
    ['all of them', (log) => log.setMetadata('urn.study-a', { $tb: 5 })],
    ['when it was deleted', (log) => log.softDelete('urn.study-a')],
  ])('%s, is not a new stream', async (_, cutOff) => {
    const { server, store } = await open();
    await appendTo(store, 'study-a', 0, 5);
    await appendTo(store, 'study-b', 0, 2);
    cutOff(server.log);
    expect(await failureOf(readStream(store, 'study-a'))).toMatchObject(CORRUPT);
    expect(await readStream(store, 'study-b')).toHaveLength(2);
    expect(await readStream(store, 'study-c')).toEqual([]);
  });

  it('is not one that has permissions of its own and no record yet', async () => {
    const { server, store } = await open();
    server.log.append('$$urn.study-a', NO_STREAM, [jsonEvent('$metadata', '{"$acl":{"$d":"$admins"}}')]);
    expect(await readStream(store, 'study-a')).toEqual([]);
    await appendTo(store, 'study-a', 0, 2);
    expect(await readStream(store, 'study-a')).toHaveLength(2);
  });

  it('permanently is not a stream that never existed', async () => {
    const { server, store } = await open();
    await appendTo(store, 'study-a', 0, 2);
    server.log.tombstone('urn.study-a');
    const error = await failureOf(readStream(store, 'study-a'));
    const why = /was deleted in EventStoreDB for good \(hint: restore a backup; .*docs\/instances/;
    expect(error).toMatchObject({ failure: 'corrupt', message: expect.stringMatching(why) });
    expect((await failureOf(store.append('study-a', 1, records('c', 1)))).outcome).toBe('not-written');
  });

  it('by deletion is not begun again without notice; if it continues, that is noticed when it is read', async () => {
    const { server, store } = await open();
    for (const stream of ['study-a', 'study-b']) {
      await appendTo(store, stream, 0, 3);
      server.log.softDelete(`urn.${stream}`);
    }
    const error = await failureOf(store.append('study-b', NO_STREAM, records('new', 1)));
    expect(error).toMatchObject({ failure: 'corrupt', outcome: 'unclear' });
    expect(error.message).toMatch(/study-b are missing .* from revision 0 to 2/);
    expect(await failureOf(readStream(store, 'study-b'))).toMatchObject({ failure: 'corrupt' });
    await appendTo(store, 'study-a', 3, 1);
    expect(await failureOf(readStream(store, 'study-a'))).toMatchObject(CORRUPT);
  });
});

describe('data that others put into the cluster', () => {
  it('and that $all hides is not the end of the log: the server records each of its starts last', async () => {
    const { server, store } = await open();
    await appendTo(store, 'study-a', 0, 3);
    server.log.elect();
    expect(texts(await readAll(store))).toEqual(['study-a-0-0', 'study-a-1-0', 'study-a-2-0']);
    const heard = scene.listen(store);
    await heard.until(3);
    server.log.elect();
    await heard.untilCaughtUp();
    await heard.untilCaughtUp();
    expect(heard.errors).toEqual([]);
  });

  it('under a name that only the server considers ours is left out', async () => {
    const { server, store } = await open();
    const heard = scene.listen(store);
    await heard.untilCaughtUp();
    const name = 'ur\u00adn.study-a';
    for (let i = 0; i < 2 * PAGE_RECORDS; i++) server.log.append(name, i - 1, [jsonEvent('Other', '{}')]);
    await appendTo(store, 'study-a', 0, 2);
    expect(texts(await readAll(store))).toEqual(['study-a-0-0', 'study-a-1-0']);
    await heard.until(2);
    await heard.untilCaughtUp();
    expect([heard.texts, heard.errors]).toEqual([['study-a-0-0', 'study-a-1-0'], []]);
  });

  it('is never returned: system streams, links, metadata, other programs', async () => {
    const { server, store } = await open();
    const { log } = server;
    const heard = scene.listen(store);
    log.append('$ce-urn.study', NO_STREAM, [jsonEvent('$>', '0@urn.study-a')]);
    log.append('$stats-127.0.0.1:2113', NO_STREAM, [jsonEvent('$statsCollected', '{}')]);
    log.append('urnx.study-a', NO_STREAM, [jsonEvent('Other', '{}')]);
    log.append('urn', NO_STREAM, [jsonEvent('Other', '{}')]);
    await appendTo(store, 'study-a', 0, 2);
    log.setMetadata('urn.study-a', { $maxCount: 1000 });
    expect((await readAll(store)).map(({ stream }) => stream)).toEqual(['study-a', 'study-a']);
    await heard.until(2);
    await heard.untilCaughtUp();
    expect(lines(heard.records)).toEqual(lines(await readAll(store)));
  });

  it('into one of our streams has no leaf, and a check of records stops at this stream only', async () => {
    const { server, store } = await open();
    await appendTo(store, 'study-a', 0, 1);
    server.log.append('urn.study-a', 0, [jsonEvent('Other', '{"a":1}')]);
    await appendTo(store, 'study-b', 0, 1);
    const [, foreign, behind] = await readAll(store);
    expect(foreign).toMatchObject({ stream: 'study-a', revision: 1, leaf: new Uint8Array(32) });
    expect(behind).toMatchObject({ stream: 'study-b', revision: 0 });
  });

  it('is not searched again and again once all of our records are known', async () => {
    const { server, store } = await open();
    await appendTo(store, 'study-a', 0, 1);
    crowd(server.log, 3000);
    const heard = scene.listen(store);
    await heard.until(1);
    await heard.untilCaughtUp();
    server.lookedAt = 0;
    for (let i = 0; i < 5; i++) await heard.untilCaughtUp();
    expect(server.lookedAt).toBeLessThan(20);
    await appendTo(store, 'study-a', 1, 1);
    await heard.until(2);
  });

  it('is skipped however long the server takes to search it', async () => {
    const { server, store } = await open(QUICK);
    await appendTo(store, 'study-a', 0, 1);
    crowd(server.log, 4000);
    await appendTo(store, 'study-a', 1, 1);
    // 3 s for the whole stretch, three times what one page may take.
    server.searchMs = 0.75;
    expect(texts(await readAll(store))).toEqual(['study-a-0-0', 'study-a-1-0']);
    const heard = scene.listen(store);
    await heard.until(1);
    // What arrived of a page before its time was up is not everything.
    expect([heard.records.length, heard.caughtUp]).toEqual([1, 0]);
    await heard.until(2);
    await heard.untilCaughtUp();
  });

  it('is not searched any further once a page is full', async () => {
    const server = await scene.server();
    const store = scene.store(server, { limits: {} });
    await store.append('study-a', NO_STREAM, records('a', READ_EVENTS + 1));
    crowd(server.log, 4000);
    server.searchMs = 0.3;
    for await (const page of store.readAll()) {
      expect(page).toHaveLength(PAGE_RECORDS);
      break;
    }
    await vi.waitFor(() => expect(server.lookedAt).toBeGreaterThan(0), 5000);
    expect(server.lookedAt).toBeLessThan(2000);
  });

  it('is not lost because the server wrongly says that it is at the end', async () => {
    const { server, store } = await open(QUICK);
    crowd(server.log, 100);
    server.reads.next('none', 'never-answers');
    expect((await failureOf(readAll(store))).failure).toBe('unavailable');
    expect(await readAll(store)).toEqual([]);
  });
});

describe('a read', () => {
  it('without an answer ends within the limit', async () => {
    const { server, store } = await open(QUICK);
    await appendTo(store, 'study-a', 0, 1);
    server.reads.always = 'never-answers';
    const began = performance.now();
    const error = await failureOf(readStream(store, 'study-a'));
    expect(error).toMatchObject({ failure: 'unavailable', outcome: 'not-written' });
    expect((await failureOf(readAll(store))).failure).toBe('unavailable');
    expect(performance.now() - began).toBeLessThan(8000);
  });

  it('that is cut off midway, each time, goes on where it was cut', async () => {
    const server = await scene.server({ canFreeze: true });
    const store = scene.store(server, { limits: PATIENT });
    const sent = records('a', 300).map((one) => ({ ...one, sealed: Buffer.alloc(1000, one.record) }));
    for (let i = 0; i < sent.length; i += 100) await store.append('study-a', i - 1, sent.slice(i, i + 100));
    // A third of what a page brings.
    server.cutAfter(100_000);
    server.dropConnections();
    expect(texts(await readAll(store))).toEqual(texts(sent));
    expect(texts(await readStream(store, 'study-a'))).toEqual(texts(sent));
  });

  it('from a position in another kind of store says so', async () => {
    const { store } = await open();
    expect(() => store.readAll('17')).toThrow('a position of another kind of store');
  });
});

describe('a subscription', () => {
  it.each<SubscriptionFault>([
    'never-answers',
    { after: 0, does: 'silent' },
    { after: 3, does: 'silent' },
    { after: 3, does: 'ends' },
    { after: 3, does: 'fails' },
    { after: 3, does: 'is-too-slow' },
    { after: 2, does: 'twice' },
    { after: 3, does: 'skips' },
  ])('continues if the server does %j: each record once, in order', async (fault) => {
    const { server, store } = await open();
    await appendTo(store, 'study-a', 0, 1);
    server.subscriptions.next(fault, fault);
    const heard = scene.listen(store);
    await heard.until(1);
    await appendTo(store, 'study-a', 1, 10);
    await appendTo(store, 'study-b', 0, 10);
    await heard.until(21);
    await heard.untilCaughtUp();
    expect(lines(heard.records)).toEqual(lines(await readAll(store)));
    if (typeof fault === 'string' || fault.does !== 'twice') expect(heard.errors).not.toEqual([]);
  });

  it.each(['without-error', 'with-error', 'silently'] as const)(
    'that the server ends %s repeatedly delivers each record once, in order',
    async (how) => {
      const { server, store } = await open();
      const heard = scene.listen(store);
      await heard.untilCaughtUp();
      for (let round = 0; round < 5; round++) {
        await appendTo(store, 'study-a', round * 5, 5);
        server.endSubscriptions(how);
        await heard.until((round + 1) * 5);
      }
      expect(lines(heard.records)).toEqual(lines(await readAll(store)));
    },
  );

  /** A store that hears of another one's appends, with the times that a service has. */
  async function hearing() {
    const server = await scene.server();
    const [here, there] = [scene.store(server, { limits: {} }), scene.store(server, { limits: {} })];
    const heard = scene.listen(here);
    await heard.untilCaughtUp();
    return { server, there, heard };
  }

  it('delivers another store’s append, even after it hung', async () => {
    const { server, there, heard } = await hearing();
    for (const how of ['live', 'silent'] as const) {
      await delay(200);
      if (how === 'silent') server.endSubscriptions('silently');
      const before = heard.records.length;
      await appendTo(there, 'study-a', before, 1);
      await heard.until(before + 1);
    }
  });

  it('survives a restart of the server, and does not claim to have caught up during errors', async () => {
    const { server, store } = await open(QUICK);
    const heard = scene.listen(store);
    await appendTo(store, 'study-a', 0, 3);
    await heard.until(3);
    await server.stop();
    await vi.waitFor(() => expect(heard.errors.length).toBeGreaterThan(0), 5000);
    const caughtUp = heard.caughtUp;
    await delay(300);
    expect(heard.caughtUp).toBe(caughtUp);
    await server.start();
    const began = performance.now();
    await heard.untilCaughtUp();
    expect(performance.now() - began).toBeLessThan(15_000);
    await appendTo(store, 'study-a', 3, 2);
    await heard.until(5);
    expect(lines(heard.records)).toEqual(lines(await readAll(store)));
  });

  it('reports that it has caught up even if others append without a pause', async () => {
    const { there, heard } = await hearing();
    const before = heard.caughtUp;
    const began = performance.now();
    let count = 0;
    while (heard.caughtUp - before < 3 && performance.now() - began < 15_000)
      await appendTo(there, 'study-a', count++, 1);
    expect(heard.caughtUp - before).toBeGreaterThanOrEqual(3);
    await heard.until(count);
    expect(heard.errors).toEqual([]);
    expect(heard.records.map(({ revision }) => revision)).toEqual([...Array(count).keys()]);
  });

  it('survives connections that break while records are coming', async () => {
    const { server, store } = await open();
    const heard = scene.listen(store);
    for (let i = 0; i < 40; i++) {
      if (i % 8 === 7) server.dropConnections();
      for (;;) {
        const result = await store.append('study-a', i - 1, records(`r${i}-`, 1)).catch(() => undefined);
        if (result?.type === 'written') break;
      }
    }
    await heard.until(40);
    expect(heard.texts).toEqual(Array.from({ length: 40 }, (_, i) => `r${i}-0`));
  });
});
