/** The contract on the most real EventStoreDB available, and what holds on any of them. */
import { afterEach, describe, expect, it } from 'vitest';
import { decodeRecord, encodeRecord } from '../../../events/record.ts';
import { NO_STREAM } from '../../../src/store/event-store.ts';
import { EventStoreDbStore } from '../../../src/store/eventstoredb/store.ts';
import { eventStoreDb } from '../../support/eventstoredb/target.ts';
import { registered, STREAM } from '../../support/facts.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { readAll, readStream, records, storeContract, texts } from '../../support/store-contract.ts';

const target = await eventStoreDb();

const newPrefix = () => `urn-test-${crypto.randomUUID()}`;
const openStore = (prefix: string = newPrefix()) => new EventStoreDbStore(target.connectionString, prefix);

storeContract('EventStoreDB', openStore);

describe('EventStoreDB', () => {
  const opened: EventStoreDbStore[] = [];
  const open = (prefix?: string) => {
    const store = openStore(prefix);
    opened.push(store);
    return store;
  };
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });

  it('returns a real record byte for byte, with factors named "10" and "9" and any Unicode', async () => {
    const store = open();
    const tools = fixedTools(1);
    const header = {
      id: tools.newId(),
      log: LOG_ID,
      stream: STREAM,
      revision: 0,
      at: tools.now().toISOString(),
      actor: { cli: true as const, user: 'Jürgen 山田 \u{1F9EA} e\u0301 \u0000 "\\' },
    };
    const bytes = encodeRecord(header, registered(), tools.newSalt);
    await store.append(STREAM, NO_STREAM, [bytes]);
    const [there] = await readStream(store, STREAM);
    if (!there) throw new Error('nothing there');
    for (const part of ['record', 'sealed', 'leaf'] as const)
      expect(Buffer.compare(there[part], bytes[part])).toBe(0);
    const event = decodeRecord(there);
    expect(event).toMatchObject({ actor: header.actor });
    expect(JSON.stringify(event)).toMatch(/"name":"10".*"name":"9"/);
  });

  it('returns bytes that look like JSON unchanged, whatever they contain', async () => {
    const store = open();
    // As metadata of its own, this would be JSON from the first byte on.
    const sent = ['{"a":1.0}', '[1, 2]', '""', 'null', ' {"b" : 1e2}'].map((text) => ({
      record: Buffer.from(text),
      sealed: Buffer.from(text),
      leaf: Buffer.from(`${' '.repeat(31)}1`),
    }));
    await store.append('study-a', NO_STREAM, sent);
    const there = await readStream(store, 'study-a');
    expect(texts(there)).toEqual(texts(sent));
    expect(there.map(({ sealed }) => Buffer.from(sealed).toString())).toEqual(texts(sent));
    expect(there.map(({ leaf }) => Buffer.from(leaf).toString())).toEqual(
      sent.map(({ leaf }) => String(leaf)),
    );
  });

  it('separates deployments that share it, even if one prefix begins with the other', async () => {
    const prefix = newPrefix();
    const [production, staging] = [open(prefix), open(`${prefix}-staging`)];
    await production.append('study-a', NO_STREAM, records('production', 3));
    await staging.append('study-a', NO_STREAM, records('staging', 2));
    await production.append('study-a', 2, records('more', 1));
    expect(texts(await readAll(production))).toEqual(['production0', 'production1', 'production2', 'more0']);
    expect(texts(await readAll(staging))).toEqual(['staging0', 'staging1']);
    expect(texts(await readStream(staging, 'study-a'))).toEqual(['staging0', 'staging1']);
  });

  it('accepts half a mebibyte in one append', async () => {
    const store = open();
    const batch = records('r', 8).map((one) => ({ ...one, record: Buffer.alloc(64 * 1024 - 100, 'r') }));
    expect(await store.append('study-a', NO_STREAM, batch)).toEqual({ type: 'written' });
    expect(await readStream(store, 'study-a')).toHaveLength(8);
  });
});
