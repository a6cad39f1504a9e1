/** A log that moves from store to store, through every adapter, and is the same log in each. */
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { access } from '../../projections/access.ts';
import { logHistory } from '../../projections/log.ts';
import { Runner } from '../../projections/runner.ts';
import { systemTools } from '../../src/base/tools.ts';
import { Keys } from '../../src/core/access/keys.ts';
import { openIdentity } from '../../src/core/ledger/identity.ts';
import { keyringInMemory } from '../../src/core/ledger/keyring.ts';
import { studyState } from '../../src/core/study/state.ts';
import { Studies } from '../../src/core/study/studies.ts';
import { studyConfig } from '../../src/core/study/views.ts';
import { moveLog } from '../../src/evidence/move/move-log.ts';
import { storeSource } from '../../src/evidence/verify/verifications.ts';
import { verifyLog } from '../../src/evidence/verify/verify.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { EventStoreDbStore } from '../../src/store/eventstoredb/store.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import { SqliteStore } from '../../src/store/sqlite/store.ts';
import { EventStoreDbServer } from '../support/eventstoredb/server.ts';
import { CONFIGURATION, LEVELS, OPERATOR, randomize } from '../support/facts.ts';
import { openGate } from '../support/open-gate.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const server = await new EventStoreDbServer().start();
afterAll(() => server.stop());
const folder = temporaryFolders()();
/** Long enough for several pages and several appends. */
const PARTICIPANTS = 300;

async function open(store: EventStore, logId: string) {
  const runner = new Runner(store, logId, [logHistory, studyState, access, studyConfig]);
  await runner.rebuild();
  const parts = { store, logId, runner, gate: openGate(runner), tools: systemTools() };
  return { studies: new Studies(parts), keys: new Keys(parts) };
}

it('a log moves from SQLite to EventStoreDB, on to memory, and back to SQLite', async () => {
  const stores: [string, EventStore][] = [
    ['first', new SqliteStore(join(folder, 'first.sqlite'))],
    ['second', new EventStoreDbStore(server.connectionString(), crypto.randomUUID())],
    ['third', new MemoryStore()],
    ['fourth', new SqliteStore(join(folder, 'fourth.sqlite'))],
  ];
  const [, first] = stores[0] as [string, EventStore];
  const { logId } = await openIdentity(first, keyringInMemory(), 'trial-log', OPERATOR, systemTools());
  const begun = await open(first, logId);
  await begun.studies.register(CONFIGURATION, undefined, OPERATOR);
  const issued = await begun.keys.issue({ user: 'nurse', scopes: ['randomize'] }, OPERATOR);
  if ('refused' in issued) throw new Error(issued.refused);
  const actor = { keyId: issued.keyId, user: 'nurse', accessRevision: 0 };
  const post = async ({ studies }: Awaited<ReturnType<typeof open>>, id: string) => {
    const command = randomize(id, { levels: LEVELS });
    return (await studies.submit(studies.streamOf(CONFIGURATION.name), command, actor)).outcome.type;
  };
  await Promise.all(Array.from({ length: PARTICIPANTS }, (_, i) => post(begun, `p${i}`)));

  for (const [i, [from, source]] of stores.slice(0, -1).entries()) {
    const [to, target] = stores[i + 1] as [string, EventStore];
    const parts = { source, target, logId, from, to, actor: OPERATOR, tools: systemTools() };
    const { streams } = await moveLog(parts);
    await expect(post(await open(source, logId), 'late')).rejects.toMatchObject({ code: 'moved' });
    for (const { stream, records } of streams) {
      const [here, there] = [await bytesOf(source, stream), await bytesOf(target, stream)];
      expect(here).toHaveLength(records);
      expect(there.slice(0, records)).toEqual(here);
    }
    expect(await post(await open(target, logId), `in ${to}`)).toBe('randomized');
    const report = await verifyLog({ source: await storeSource(target), trusted: [], checkpoints: [] });
    expect(report.streams.filter(({ sound }) => !sound)).toEqual([]);
    expect(report.streams.find(({ study }) => study !== undefined)?.participants).toBe(PARTICIPANTS + i + 1);
  }
  for (const [, store] of stores) await store.close();
});

async function bytesOf(store: EventStore, stream: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const page of store.readStream(stream, 0))
    for (const { record, sealed, leaf } of page)
      texts.push([record, sealed, leaf].map((bytes) => Buffer.from(bytes).toString('hex')).join());
  return texts;
}
