/**
 * The contract of src/store/event-store.ts as tests: what a store must do to hold the log. Every adapter must pass them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { RecordBytes } from '../../events/record.ts';
import {
  type EventStore,
  NO_STREAM,
  PAGE_RECORDS,
  type Position,
  type StoredRecord,
  type StoreError,
} from '../../src/store/event-store.ts';

const WRITTEN = { type: 'written' };
const CONFLICT = { type: 'conflict' };

/** How long a subscription may take to deliver, in ms. */
export const DELIVERY_MS = 15_000;

/** @param makeStore gives an empty store; the suite closes it */
export function storeContract(name: string, makeStore: () => EventStore | Promise<EventStore>): void {
  const opened: EventStore[] = [];
  const heards: Heard[] = [];
  const open = async () => {
    const store = await makeStore();
    opened.push(store);
    return store;
  };
  afterEach(async () => {
    for (const { errors } of heards.splice(0)) expect(errors).toEqual([]);
    for (const store of opened.splice(0)) await store.close();
  });

  const test = (title: string, use: (store: EventStore) => Promise<void>) =>
    it(title, async () => use(await open()));

  describe(`${name}: append`, () => {
    test('is a conflict when the stream ends at another revision, and writes nothing', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', 3));
      for (const expected of [NO_STREAM, 0, 1, 3, 99])
        expect(await store.append('study-a', expected, records('b', 2))).toEqual(CONFLICT);
      expect(await store.append('study-b', 0, records('b', 1))).toEqual(CONFLICT);
      expect(texts(await readAll(store))).toEqual(['a0', 'a1', 'a2']);
    });

    test('may be sent again, also when more records followed', async (store) => {
      for (const _ of [1, 2])
        expect(await store.append('study-a', NO_STREAM, records('a', 1))).toEqual(WRITTEN);
      await store.append('study-a', 0, records('b', 3));
      await store.append('study-a', 3, records('c', 1));
      expect(await store.append('study-a', NO_STREAM, records('a', 1))).toEqual(WRITTEN);
      expect(await store.append('study-a', 0, records('b', 3))).toEqual(WRITTEN);
      expect(texts(await readAll(store))).toEqual(['a0', 'b0', 'b1', 'b2', 'c0']);
    });

    test('may be sent again while the first is still under way', async (store) => {
      const twice = [1, 2].map(() => store.append('study-a', NO_STREAM, records('a', 2)));
      expect(await Promise.all(twice)).toEqual([WRITTEN, WRITTEN]);
      expect(texts(await readAll(store))).toEqual(['a0', 'a1']);
    });

    test('is a conflict where other bytes are, if only in part', async (store) => {
      const there = records('a', 3);
      await store.append('study-a', NO_STREAM, there);
      const [first, second, third] = there;
      if (!first || !second || !third) throw new Error('three records');
      const others: RecordBytes[][] = [
        [first, second, { ...third, record: Buffer.from('other') }],
        [first, { ...second, sealed: Buffer.from('other') }, third],
        [first, third, second],
        [...there, ...records('b', 1)],
      ];
      for (const other of others) expect(await store.append('study-a', NO_STREAM, other)).toEqual(CONFLICT);
      expect(await store.append('study-b', NO_STREAM, there)).toEqual(WRITTEN);
      expect(texts(await readStream(store, 'study-a'))).toEqual(['a0', 'a1', 'a2']);
    });

    test('is written if it is the first of several sent at once, and a conflict otherwise', async (store) => {
      const results = await Promise.all(
        ['a', 'b', 'c', 'd'].map((by) => store.append('study-a', NO_STREAM, records(by, 2))),
      );
      expect(results.map(({ type }) => type).sort()).toEqual(['conflict', 'conflict', 'conflict', 'written']);
      expect(await readAll(store)).toHaveLength(2);
    });

    test('has its own result for each stream, however many arrive at once', async (store) => {
      await store.append('study-0', NO_STREAM, records('before', 1));
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) => store.append(`study-${i}`, NO_STREAM, records(`s${i}-`, 2))),
      );
      expect(results).toEqual([CONFLICT, ...Array.from({ length: 49 }, () => WRITTEN)]);
      expect(texts(await readStream(store, 'study-0'))).toEqual(['before0']);
      for (let i = 1; i < 50; i++)
        expect(texts(await readStream(store, `study-${i}`))).toEqual([`s${i}-0`, `s${i}-1`]);
    });

    test('chains: each of many appends sees the one before it', async (store) => {
      for (let i = 0; i < 50; i++)
        expect(await store.append('study-a', i - 1, records(`r${i}-`, 1))).toEqual(WRITTEN);
      expect(texts(await readAll(store))).toEqual(Array.from({ length: 50 }, (_, i) => `r${i}-0`));
    });

    test('keeps what it was given, not what the caller makes of it afterwards', async (store) => {
      const mine = records('a', 1);
      await store.append('study-a', NO_STREAM, mine);
      for (const { record, sealed, leaf } of mine) for (const bytes of [record, sealed, leaf]) bytes.fill(9);
      const [there] = await readAll(store);
      expect(there && text(there.record)).toBe('a0');
      expect(there && text(there.sealed)).toBe('sealed a0');
      expect(there?.leaf[0]).toBe(0);
    });
  });

  describe(`${name}: records`, () => {
    const everyByte = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    it.each<[string, Buffer]>([
      ['a NUL', Buffer.from('a\0b')],
      ['every byte there is', everyByte],
      ['invalid UTF-8', Buffer.of(0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80)],
      ['a byte order mark', Buffer.from('\ufeff{}')],
      ['Unicode in no normal form', Buffer.from('e\u0301 é \u{1f600}')],
      ['nothing', Buffer.alloc(0)],
      ['256 KiB', Buffer.alloc(256 * 1024, everyByte)],
    ])('come back byte for byte: %s', async (_, bytes) => {
      const store = await open();
      const leaf = everyByte.subarray(96, 128);
      // A view into a larger buffer, as most buffers are.
      const record = Buffer.concat([Buffer.from('<'), bytes, Buffer.from('>')]).subarray(1, -1);
      await store.append('study-a', NO_STREAM, [{ record, sealed: bytes, leaf }]);
      const [there] = await readStream(store, 'study-a');
      const came = [there?.record, there?.sealed, there?.leaf].map(hex);
      expect(came).toEqual([record, bytes, leaf].map(hex));
    });

    test('have revisions from 0 without a gap, and each stream its own', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', 3));
      await store.append('study-b', NO_STREAM, records('b', 1));
      await store.append('study-a', 2, records('c', 2));
      expect((await readStream(store, 'study-a')).map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4]);
      expect((await readStream(store, 'study-b')).map(({ revision, stream }) => [stream, revision])).toEqual([
        ['study-b', 0],
      ]);
    });
  });

  describe(`${name}: streams`, () => {
    it.each([
      'log',
      'study-5c7fe1ff-82ea-5670-8386-ae499ae137d9',
      'study-Ärzte 山田 ☤',
      "study-'; --",
      'study-%_*',
      'study-"$x"',
      'STUDY-a',
    ])('may be named %j', async (odd) => {
      const store = await open();
      await store.append('study-a', NO_STREAM, records('a', 1));
      expect(await store.append(odd, NO_STREAM, records('odd', 2))).toEqual(WRITTEN);
      expect(texts(await readStream(store, odd))).toEqual(['odd0', 'odd1']);
      expect((await readAll(store)).map(({ stream }) => stream)).toEqual(['study-a', odd, odd]);
    });

    test('are distinguished by every code point', async (store) => {
      const names = ['study-a', 'study-A', 'study-a ', 'study-é', 'study-e\u0301', 'study-a-b'];
      for (const stream of names) await store.append(stream, NO_STREAM, records(stream, 1));
      for (const stream of names) expect(texts(await readStream(store, stream))).toEqual([`${stream}0`]);
    });
  });

  describe(`${name}: readStream`, () => {
    test('of a stream that does not exist gives nothing', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', 1));
      expect(await readStream(store, 'study-b')).toEqual([]);
    });

    test('begins at a revision', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', 4));
      expect(texts(await readStream(store, 'study-a', 2))).toEqual(['a2', 'a3']);
      expect(await readStream(store, 'study-a', 4)).toEqual([]);
      expect(await readStream(store, 'study-a', 99)).toEqual([]);
    });

    test(`gives more than ${PAGE_RECORDS} records in pages, in order`, async (store) => {
      await store.append('study-a', NO_STREAM, records('a', PAGE_RECORDS));
      await store.append('study-b', NO_STREAM, records('b', 10));
      await store.append('study-a', PAGE_RECORDS - 1, records('c', PAGE_RECORDS + 1));
      const pages = await collect(store.readStream('study-a', 0));
      for (const { length } of pages) expect(length > 0 && length <= PAGE_RECORDS).toBe(true);
      expect(pages.flat().map(({ revision }) => revision)).toEqual([...Array(2 * PAGE_RECORDS + 1).keys()]);
    });
  });

  describe(`${name}: readAll`, () => {
    test('of an empty store gives nothing', async (store) => expect(await readAll(store)).toEqual([]));

    test('gives all streams in an order that keeps each stream’s, in pages', async (store) => {
      for (let round = 0; round < 2; round++)
        for (const stream of ['study-a', 'study-b', 'access'])
          await store.append(stream, round * 175 - 1, records(stream, 175));
      const pages = await collect(store.readAll());
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(PAGE_RECORDS);
      const all = pages.flat();
      // More than any store reads at once.
      expect(all).toHaveLength(2 * 3 * 175);
      for (const stream of ['study-a', 'study-b', 'access'])
        expect(lines(all.filter((one) => one.stream === stream))).toEqual(
          lines(await readStream(store, stream)),
        );
    });

    test('goes on after any position it has given', async (store) => {
      for (const stream of ['study-a', 'study-b', 'study-c'])
        await store.append(stream, NO_STREAM, records(stream, 2));
      const all = await readAll(store);
      for (const [i, { position }] of all.entries())
        expect(texts(await readAll(store, position))).toEqual(texts(all.slice(i + 1)));
    });
  });

  describe(`${name}: subscribe`, () => {
    test('delivers what was there before, and what this process appends, once and in order', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', 3));
      const heard = listen(store);
      await store.append('study-b', NO_STREAM, records('b', 2));
      for (let i = 0; i < 50; i++) await store.append('study-a', 2 + i, records(`c${i}-`, 1));
      await heard.until(55);
      expect(lines(heard.records)).toEqual(lines(await readAll(store)));
    });

    test('delivers more than a page that was there before', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', PAGE_RECORDS));
      await store.append('study-a', PAGE_RECORDS - 1, records('b', PAGE_RECORDS + 1));
      const heard = listen(store);
      await heard.until(2 * PAGE_RECORDS + 1);
      expect(heard.records.map(({ revision }) => revision)).toEqual([...Array(2 * PAGE_RECORDS + 1).keys()]);
    });

    test('begins after a position', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', 3));
      const [, second] = await readAll(store);
      const heard = listen(store, second?.position);
      await store.append('study-a', 2, records('b', 1));
      await heard.until(2);
      expect(texts(heard.records)).toEqual(['a2', 'b0']);
    });

    test('delivers to each subscription all that it asked for', async (store) => {
      const early = listen(store);
      await store.append('study-a', NO_STREAM, records('a', 2));
      const late = listen(store);
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => store.append(`study-${i}`, NO_STREAM, records('b', 2))),
      );
      await Promise.all([early.until(42), late.until(42)]);
      const all = lines(await readAll(store));
      expect(lines(early.records)).toEqual(all);
      expect(lines(late.records)).toEqual(all);
    });

    test('delivers nothing for a conflict, nor again for an append that is sent again', async (store) => {
      const heard = listen(store);
      await store.append('study-a', NO_STREAM, records('a', 2));
      await store.append('study-a', NO_STREAM, records('b', 2));
      await store.append('study-a', NO_STREAM, records('a', 2));
      await store.append('study-a', 1, records('c', 1));
      await heard.until(3);
      await delay(250);
      expect(texts(heard.records)).toEqual(['a0', 'a1', 'c0']);
    });

    test('never delivers before the append is durable, nor calls back while it is being made', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', 1));
      let returned = false;
      const heard: boolean[] = [];
      const subscription = store.subscribe(undefined, {
        onRecords: () => heard.push(returned),
        onCaughtUp: () => heard.push(returned),
        onError: () => undefined,
      });
      returned = true;
      await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0), DELIVERY_MS);
      subscription.close();
      expect(heard).not.toContain(false);
    });

    test('says that all has been delivered, and says so again while that is so', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', 3));
      const heard = listen(store);
      await vi.waitFor(() => expect(heard.caughtUpAt.length).toBeGreaterThan(2), DELIVERY_MS);
      expect(heard.caughtUpAt.every((count) => count === 3)).toBe(true);
    });

    test('delivers nothing once it is closed', async (store) => {
      const heard = listen(store);
      await store.append('study-a', NO_STREAM, records('a', 1));
      await heard.until(1);
      heard.close();
      await store.append('study-a', 0, records('b', 1));
      await delay(250);
      expect(texts(heard.records)).toEqual(['a0']);
    });

    test('may be closed from within', async (store) => {
      await store.append('study-a', NO_STREAM, records('a', PAGE_RECORDS));
      await store.append('study-a', PAGE_RECORDS - 1, records('b', PAGE_RECORDS));
      const heard = listen(store);
      heard.onRecords = (page) => {
        heard.records.push(...page);
        heard.close();
      };
      await heard.until(1);
      const atClose = heard.records.length;
      await store.append('study-a', 2 * PAGE_RECORDS - 1, records('c', 1));
      await delay(250);
      expect(heard.records).toHaveLength(atClose);
    });
  });

  describe(`${name}: close`, () => {
    it('waits for the appends that were accepted', async () => {
      const store = await makeStore();
      const appends = [...Array(100).keys()].map((i) => store.append(`${i}`, NO_STREAM, records('a', 1)));
      await store.close();
      expect(await Promise.all(appends)).toEqual(Array(100).fill(WRITTEN));
    });

    it('may be called twice', async () => {
      const store = await makeStore();
      await Promise.all([store.close(), store.close()]);
      await store.close();
    });
  });

  function listen(store: EventStore, after?: Position) {
    const heard = new Heard();
    heards.push(heard);
    const subscription = store.subscribe(after, heard);
    return Object.assign(heard, { close: () => subscription.close() });
  }
}

/** What a subscription hears. */
export class Heard {
  readonly records: StoredRecord[] = [];
  readonly errors: StoreError[] = [];
  /** How many records there were each time that these were all. */
  readonly caughtUpAt: number[] = [];

  onRecords(page: readonly StoredRecord[]): void {
    this.records.push(...page);
  }

  onCaughtUp(): void {
    this.caughtUpAt.push(this.records.length);
  }

  onError(error: StoreError): void {
    this.errors.push(error);
  }

  async until(count: number): Promise<void> {
    await vi.waitFor(() => expect(this.records.length).toBeGreaterThanOrEqual(count), DELIVERY_MS);
  }
}

/** Records whose text is `<name><index>`. A store does not interpret them, so they need not be real. */
export function records(name: string, count: number): RecordBytes[] {
  return Array.from({ length: count }, (_, i) => ({
    record: Buffer.from(`${name}${i}`),
    sealed: Buffer.from(`sealed ${name}${i}`),
    leaf: Buffer.alloc(32, i),
  }));
}

export const readAll = async (store: EventStore, after?: Position): Promise<StoredRecord[]> =>
  (await collect(store.readAll(after))).flat();

export const readStream = async (store: EventStore, stream: string, from = 0): Promise<StoredRecord[]> =>
  (await collect(store.readStream(stream, from))).flat();

export const texts = (stored: readonly RecordBytes[]): string[] => stored.map(({ record }) => text(record));

/** All of each record as one line: many records are compared much faster like this. */
export function lines(stored: readonly StoredRecord[]): string[] {
  return stored.map(({ stream, revision, position, record, sealed, leaf }) =>
    [stream, revision, position, ...[record, sealed, leaf].map(hex)].join(),
  );
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('hex');

async function collect<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(page);
  return all;
}
