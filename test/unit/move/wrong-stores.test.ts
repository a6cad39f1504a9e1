/** Stores that a log must not be moved between, or given up between: each would leave somebody who goes on with half of it. */
import { expect, it } from 'vitest';
import { encodeRecord, type RecordBytes } from '../../../events/record.ts';
import { logHistory } from '../../../projections/log.ts';
import { Runner } from '../../../projections/runner.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { studyState } from '../../../src/core/study/state.ts';
import { Studies } from '../../../src/core/study/studies.ts';
import { design, studyConfig } from '../../../src/core/study/views.ts';
import { abortMove } from '../../../src/evidence/move/abort-move.ts';
import { moveLog } from '../../../src/evidence/move/move-log.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { CONFIGURATION, LEVELS, NURSE, OPERATOR, randomize } from '../../support/facts.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { openGate } from '../../support/open-gate.ts';

let series = 0;

async function begun(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const tools = fixedTools(++series);
  const at = tools.now().toISOString();
  const header = { id: tools.newId(), log: LOG_ID, stream: 'log', revision: 0, at, actor: OPERATOR };
  const { publicKey } = makeSigningKey('trial-log');
  const data = { logId: LOG_ID, logName: 'trial-log', publicKey };
  await store.append('log', -1, [
    encodeRecord(header, { type: 'LogCreated', data, sections: {} }, tools.newSalt),
  ]);
  return store;
}

/** It hears of nothing that it does not read. */
async function openProcess(store: EventStore) {
  const runner = new Runner(store, LOG_ID, [logHistory, studyState, studyConfig, design]);
  await runner.rebuild();
  const studies = new Studies({
    store,
    logId: LOG_ID,
    runner,
    gate: openGate(runner),
    tools: fixedTools(++series),
  });
  return {
    register: () => studies.register(CONFIGURATION, undefined, OPERATOR),
    post: (id: string) =>
      studies.submit(studies.streamOf(CONFIGURATION.name), randomize(id, { levels: LEVELS }), NURSE),
  };
}

function stores(source: EventStore, target: EventStore, from: string, to: string) {
  return { source, target, logId: LOG_ID, actor: OPERATOR, tools: fixedTools(++series), from, to };
}

/** A store to which appends fail from the first on that contains a text. */
function dyingAt(store: EventStore, text: string): EventStore {
  let isDead = false;
  return Object.assign(Object.create(store) as EventStore, {
    append: (stream: string, revision: number, records: readonly RecordBytes[]) => {
      isDead ||= records.some(({ record }) => Buffer.from(record).includes(text));
      return isDead ? Promise.reject(new Error('died')) : store.append(stream, revision, records);
    },
    readAll: store.readAll.bind(store),
    readStream: store.readStream.bind(store),
  });
}

const size = async (store: EventStore) => {
  let records = 0;
  for await (const page of store.readAll()) records += page.length;
  return records;
};

it('does not return to a store that it left: a process that slept through both moves would wake up there', async () => {
  const [home, away] = [await begun(), new MemoryStore()];
  const asleep = await openProcess(home);
  await asleep.register();
  await moveLog(stores(home, away, 'home', 'away'));
  await (await openProcess(away)).post('a');

  const back = moveLog(stores(dyingAt(away, '"LogMoved"'), home, 'away', 'home'));
  await expect(back).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('the target already holds this log'),
  });
  await expect(asleep.post('b')).rejects.toMatchObject({ code: 'moved' });
  await (await openProcess(away)).post('b');
});

it('does not go to a copy of its own files, which a service might have open', async () => {
  const [home, seeded] = [await begun(), new MemoryStore()];
  for await (const page of home.readAll())
    for (const record of page) await seeded.append(record.stream, record.revision - 1, [record]);
  await (await openProcess(home)).register();
  const before = await size(home);
  await expect(moveLog(stores(home, seeded, 'home', 'seeded'))).rejects.toThrow('already holds this log');
  expect([await size(home), await size(seeded)]).toEqual([before, 1]);
});

it('is not given up or resumed with source and target swapped', async () => {
  const [home, away] = [await begun(), new MemoryStore()];
  const process = await openProcess(home);
  await process.register();
  // The mover dies when only `log` is closed.
  const dying = dyingAt(home, '"stream":"study-');
  await expect(moveLog(stores(dying, away, 'home', 'away'))).rejects.toThrow('died');
  // Only the source has this one.
  await process.post('b');
  const before = [await size(home), await size(away)];

  for (const exchanged of [moveLog, abortMove])
    await expect(exchanged(stores(away, home, 'away', 'home'))).rejects.toThrow(
      'the log is being moved to away, not from there (hint: --from and --to are the other way round)',
    );
  // Under another name, as the machine may have got one.
  await expect(abortMove(stores(away, home, 'AWAY', 'home'))).rejects.toThrow(
    'does not have, so it is not a copy',
  );
  expect([await size(home), await size(away)]).toEqual(before);

  await abortMove(stores(home, away, 'home', 'away'));
  expect((await process.post('c')).outcome.type).toBe('randomized');
});
