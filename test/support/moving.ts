/** A log with one study, in memory, and processes that use it and hear of nothing that they do not read. */
import type { RecordBytes } from '../../events/record.ts';
import { access } from '../../projections/access.ts';
import { logHistory } from '../../projections/log.ts';
import { Runner } from '../../projections/runner.ts';
import { DomainError } from '../../src/base/errors.ts';
import { systemTools } from '../../src/base/tools.ts';
import { Keys } from '../../src/core/access/keys.ts';
import { makeSigningKey } from '../../src/core/log/signing.ts';
import { design, studyConfig, studyState } from '../../src/core/study/fold.ts';
import { Studies } from '../../src/core/study/studies.ts';
import { logIdIn, type MoveParts, moveLog } from '../../src/evidence/move/move-log.ts';
import type { EventStore, StoredRecord } from '../../src/store/event-store.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import { CONFIGURATION, LEVELS, OPERATOR, randomize, stored } from './facts.ts';
import { fixedTools, LOG_ID } from './fixed-tools.ts';
import { openGate } from './open-gate.ts';

let series = 0;

const made = new Map<string, Promise<MemoryStore>>();

/** A store whose log has one study with these participants, as a copy of one that was made once. */
export async function begunWith(...ids: readonly string[]): Promise<MemoryStore> {
  const make = async () => {
    const store = new MemoryStore();
    const { publicKey } = makeSigningKey('trial-log');
    const data = { format: 'urn-log@1' as const, logId: LOG_ID, logName: 'trial-log', publicKey };
    const place = { stream: 'log', actor: OPERATOR, tools: fixedTools(++series) };
    await store.append('log', -1, [stored({ type: 'LogCreated', data, sections: {} }, 0, place)]);
    const { keys, studies, post } = await startProcess(store);
    await keys.issue({ user: 'nurse', scopes: ['randomize'] }, OPERATOR);
    await studies.register(CONFIGURATION, undefined, OPERATOR);
    for (const id of ids) await post(id);
    return store;
  };
  const key = ids.join();
  const original = made.get(key) ?? make();
  made.set(key, original);
  const copy = new MemoryStore();
  await copyAll(await original, copy);
  return copy;
}

/** Appends what one store has to another. */
export async function copyAll(
  from: EventStore,
  to: EventStore,
  wanted = (_: StoredRecord) => true,
): Promise<void> {
  for await (const page of from.readAll())
    for (const stored of page)
      if (wanted(stored)) await to.append(stored.stream, stored.revision - 1, [stored]);
}

/** As src/service/open/open-log.ts puts it together, without following the log. */
export async function startProcess(store: EventStore) {
  const tools = fixedTools(++series);
  const runner = new Runner(store, LOG_ID, [logHistory, studyState, access, studyConfig, design]);
  await runner.rebuild();
  const parts = { store, logId: LOG_ID, runner, gate: openGate(runner), tools };
  const studies = new Studies(parts);
  const keys = new Keys(parts);
  const stream = studies.streamOf(CONFIGURATION.name);
  /** Undefined if the log was moved. */
  const post = async (id: string) => {
    const [keyId = ''] = runner.state(access, 'access').byId.keys();
    const actor = { keyId, user: 'nurse', accessRevision: 0 };
    try {
      return await studies.submit(stream, randomize(id, { levels: LEVELS }), actor);
    } catch (error) {
      if (error instanceof DomainError && error.code === 'moved') return undefined;
      throw error;
    }
  };
  return { keys, studies, post };
}

export function partsOf(source: EventStore, target: EventStore, from: string, to: string): MoveParts {
  return { source, target, logId: LOG_ID, actor: OPERATOR, tools: fixedTools(++series), from, to };
}

/** Like a mover that dies when the log is closed in both stores. */
export async function closeLog(
  source: EventStore,
  target: EventStore,
  [from, to]: readonly [string, string],
): Promise<void> {
  const died = new Error('died');
  const tools = { ...systemTools(), pause: () => Promise.reject(died) };
  const logId = (await logIdIn(source)) ?? '';
  await moveLog({ source, target, logId, from, to, actor: OPERATOR, tools }).catch((error) => {
    if (error !== died) throw error;
  });
}

/** A store whose user dies just after an append that contains a text. */
export function dyingAfter(store: EventStore, text: string): EventStore {
  let isDead = false;
  return {
    ...aliveWhile(store, () => {
      if (isDead) throw new Error('died');
    }),
    append: async (stream, revision, records) => {
      const result = await store.append(stream, revision, records);
      isDead ||= records.some(({ record }) => Buffer.from(record).includes(`"type":"${text}"`));
      if (isDead) throw new Error('died');
      return result;
    },
  };
}

/** @param step called before and after each step at the store; throws if its user has died */
export function aliveWhile(store: EventStore, step: () => void): EventStore {
  async function* read<T>(pages: AsyncIterable<T>): AsyncIterable<T> {
    step();
    yield* pages;
  }
  return {
    append: async (stream: string, revision: number, records: readonly RecordBytes[]) => {
      step();
      const result = await store.append(stream, revision, records);
      step();
      return result;
    },
    readStream: (stream, from) => read(store.readStream(stream, from)),
    readAll: (after) => read(store.readAll(after)),
    subscribe: (after, subscriber) => store.subscribe(after, subscriber),
    close: () => store.close(),
  };
}
