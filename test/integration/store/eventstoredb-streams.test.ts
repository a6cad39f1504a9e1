/** What others can do to single streams in EventStoreDB: the others go on, and what threatens records is reported. */
import { describe, expect, it, vi } from 'vitest';
import { NO_STREAM, type StreamWatch } from '../../../src/store/event-store.ts';
import type { EventStoreDbStore } from '../../../src/store/eventstoredb/store.ts';
import { DELETED_STREAM, jsonEvent, type ServerLog } from '../../support/eventstoredb/log.ts';
import { eventStoreDbScene, failureOf, Heard, PATIENT } from '../../support/eventstoredb/scene.ts';
import { readAll, records, texts } from '../../support/store-contract.ts';

const scene = eventStoreDbScene();

/** A store with records in three streams, in turn. */
async function open() {
  const server = await scene.server();
  const store = scene.store(server, { limits: PATIENT });
  for (let i = 0; i < 4; i++)
    for (const stream of ['study-a', 'study-b', 'log'])
      await store.append(stream, i - 1, records(`${stream}-${i}-`, 1));
  return { server, store };
}

/** What a read of everything gives and reports. */
async function readWatched(store: EventStoreDbStore): Promise<Heard> {
  const heard = new Heard();
  for await (const page of store.readAll(undefined, heard as StreamWatch)) heard.onRecords(page);
  return heard;
}

const revisionsOf = (heard: Heard, stream: string) =>
  heard.records.flatMap((record) => (record.stream === stream ? [record.revision] : []));

const ALL = [0, 1, 2, 3];
const ONE = 'urn.study-a';

const scavenged = (change: (log: ServerLog) => void) => (log: ServerLog) => {
  change(log);
  log.scavenge();
};

describe('a stream that was broken in the server', () => {
  const wasDeleted = /study-a was deleted .*for good/;
  const missing = (to: number) => new RegExp(`study-a are missing .*from revision 0 to ${to}`);
  it.each<[string, (log: ServerLog) => void, readonly number[], RegExp]>([
    ['deleted for good', (log) => log.tombstone(ONE), ALL, wasDeleted],
    ['deleted for good and scavenged', scavenged((log) => log.tombstone(ONE)), [], wasDeleted],
    ['cut off and scavenged', scavenged((log) => log.setMetadata(ONE, { $tb: 2 })), [], missing(1)],
    ['deleted and scavenged', scavenged((log) => log.softDelete(ONE)), [], missing(2)],
  ])(
    '%s, affects only that stream, when all is read and when the log is followed',
    async (_, breakIt, left, why) => {
      const { server, store } = await open();
      breakIt(server.log);
      const read = await readWatched(store);
      expect(read.broken).toEqual({ 'study-a': expect.stringMatching(why) });
      expect(read.broken['study-a']).not.toMatch(/9223372036854775|\d{17}/);
      expect(read.broken['study-a']).toMatch(/hint: .*docs\/instances\.md/);
      expect(revisionsOf(read, 'study-a')).toEqual(left);
      for (const stream of ['study-b', 'log']) expect(revisionsOf(read, stream)).toEqual(ALL);
      // A reader that does not watch for it would mistake the rest for everything.
      expect(await failureOf(readAll(store))).toMatchObject({ failure: 'corrupt' });

      const heard = scene.listen(store);
      await heard.untilCaughtUp();
      await store.append('study-b', 3, records('more', 1));
      await heard.until(left.length + 9);
      await heard.untilCaughtUp();
      expect(heard.broken).toEqual({ 'study-a': expect.stringMatching(why) });
      expect(revisionsOf(heard, 'study-b')).toEqual([...ALL, 4]);
      expect(heard.errors).toEqual([]);
    },
  );

  it('while the log is followed does not affect the others, before or after', async () => {
    const { server, store } = await open();
    const heard = scene.listen(store);
    await heard.until(12);
    server.log.tombstone(ONE);
    await vi.waitFor(() => expect(heard.broken).toHaveProperty('study-a'), 5000);
    expect((await failureOf(store.append('study-a', 3, records('x', 1)))).outcome).toBe('not-written');
    expect(await store.append('study-b', 3, records('more', 1))).toEqual({ type: 'written' });
    await heard.until(13);
    expect(heard.errors).toEqual([]);
    const again = scene.listen(scene.store(server, { limits: PATIENT }));
    await again.until(13);
    expect(again.broken).toEqual(heard.broken);
  });

  it('is not confused with one from which a subscription omitted a record', async () => {
    const { server, store } = await open();
    server.subscriptions.next({ after: 1, does: 'skips' });
    const heard = scene.listen(store);
    await heard.until(12);
    for (let i = 4; i < 12; i++) await store.append('study-a', i - 1, records(`later${i}-`, 1));
    await heard.until(20);
    expect(heard.broken).toEqual({});
    expect(texts(heard.records.slice(12))).toEqual(Array.from({ length: 8 }, (_, i) => `later${i + 4}-0`));
  });
});

describe('metadata that will remove records', () => {
  it.each<[string, (log: ServerLog) => void, RegExp]>([
    ['$maxCount', (log) => log.setMetadata(ONE, { $maxCount: 2 }), /has \$maxCount 2 in its metadata/],
    ['$maxAge', (log) => log.setMetadata(ONE, { $maxAge: 86_400 }), /has \$maxAge 86400 in its/],
    ['$tb', (log) => log.setMetadata(ONE, { $tb: 1 }), /has \$tb 1 in its metadata/],
    ['a soft delete', (log) => log.softDelete(ONE), /was deleted in EventStoreDB, but can still/],
  ])(
    '%s, is reported while the log is followed and at the start, with the command that removes it',
    async (_, endanger, why) => {
      const { server, store } = await open();
      const heard = scene.listen(store);
      await heard.until(12);
      endanger(server.log);
      await vi.waitFor(() => expect(heard.dangers).toEqual({ 'study-a': expect.stringMatching(why) }), 5000);
      const read = await readWatched(store);
      expect(read.dangers).toEqual({ 'study-a': expect.stringMatching(why) });
      expect(read.dangers['study-a']).toMatch(/node deploy\/eventstoredb\.mjs keep urn\.study-a/);
      // Nothing is gone yet, and all of it is read.
      expect([read.broken, revisionsOf(read, 'study-a')]).toEqual([{}, ALL]);

      // Of a stream that was deleted, the server keeps it cut off once more.
      server.log.setMetadata(ONE, {});
      server.log.setMetadata(ONE, {});
      await vi.waitFor(() => expect(heard.dangers).toEqual({}), 5000);
      expect([heard.broken, heard.errors, heard.rolledBack]).toEqual([{}, [], []]);
    },
  );

  it('that was removed before the start is not reported', async () => {
    const { server, store } = await open();
    const watch = { onDanger: vi.fn(), onBroken: vi.fn() };
    server.log.setMetadata(ONE, { $maxCount: 2 });
    server.log.setMetadata(ONE, { $acl: { $d: '$admins' } });
    for await (const _ of store.readAll(undefined, watch));
    expect(watch.onDanger.mock.calls.filter(([, danger]) => danger !== undefined)).toEqual([]);
  });

  it('is reported in the server’s own terms, up to its largest number', async () => {
    const { server, store } = await open();
    const set = (json: string) => server.log.append('$$urn.study-b', 'any', [jsonEvent('$metadata', json)]);
    const harmless = ['{"$acl":{"$r":"urn"}}', '{"$tb":0}', '{"$maxCount":null}', 'no JSON', '[]', 'null'];
    for (const json of harmless) {
      set(json);
      expect((await readWatched(store)).dangers).toEqual({});
    }
    set(`{"$tb":${DELETED_STREAM}}`);
    expect((await readWatched(store)).dangers['study-b']).toMatch(/was deleted/);
  });

  it('of another deployment, or of other programs, is ignored', async () => {
    const { server, store } = await open();
    for (const stream of ['urn-staging.study-a', 'urnx.study-a', 'other', 'urn'])
      server.log.setMetadata(stream, { $maxCount: 1 });
    expect((await readWatched(store)).dangers).toEqual({});
    const staging = scene.store(server, { prefix: 'urn-staging', limits: PATIENT });
    expect((await readWatched(staging)).dangers).toHaveProperty('study-a');
  });

  it('on a stream without records is also reported', async () => {
    const { server, store } = await open();
    server.log.setMetadata('urn.study-new', { $maxCount: 5 });
    expect((await readWatched(store)).dangers).toHaveProperty('study-new');
    expect(await store.append('study-new', NO_STREAM, records('n', 1))).toEqual({ type: 'written' });
  });
});
