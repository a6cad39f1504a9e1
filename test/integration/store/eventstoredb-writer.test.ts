/** The write path over an EventStoreDB that breaks at random: what was answered is written once, and stays serial. */
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import type { RunnerHooks } from '../../../projections/runner.ts';
import { StoreError } from '../../../src/store/event-store.ts';
import type { EventStoreDbStore } from '../../../src/store/eventstoredb/store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import type { TestCluster } from '../../support/eventstoredb/cluster.ts';
import type { AppendFault, ReadFault } from '../../support/eventstoredb/faults.ts';
import { eventStoreDbScene } from '../../support/eventstoredb/scene.ts';
import type { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { REGISTER, randomize, STREAM } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { eventsIn, factOf, type WritingProcess, writingProcess } from '../../support/writing-process.ts';

const scene = eventStoreDbScene();
/** Much shorter than a service's, so that an append that is never answered costs little. */
const TIMES = {
  appendTimeoutMs: 250,
  readTimeoutMs: 1000,
  probeMs: 50,
  graceMs: 50,
  pauseMs: [5, 20] as const,
};
const LIMITS = { batchCommands: 2, deadlineMs: 20_000, appendTimeoutMs: 600 };
const RUNS = 12;

const appendFaults = fc.array(
  fc.constantFrom<AppendFault>(
    'none',
    'fails',
    'drops',
    'writes-and-drops',
    'never-answers',
    'writes-and-never-answers',
    'lands-late',
    'under-way',
    'times-out',
    { lateMs: 300 },
  ),
  { maxLength: 8 },
);
const readFaults = fc.array(fc.constantFrom<ReadFault>('none', 'fails', 'drops'), { maxLength: 6 });

const participants = (count: number, series: string) =>
  Array.from({ length: count }, (_, i) => `${series}-${String(i).padStart(3, '0')}`);

/** A process that knows the study and follows the log. @param alarms gets what a passing failure must not cause */
async function processAt(
  store: EventStoreDbStore,
  series: number,
  alarms: string[] = [],
): Promise<WritingProcess> {
  const runnerHooks: RunnerHooks = {
    onHalted: (_, { message }) => void alarms.push(message),
    onRolledBack: (why) => void alarms.push(why),
    onDanger: (_, danger) => void alarms.push(danger ?? 'no danger'),
    onStoreError: ({ failure, message }) => void (failure === 'unavailable' || alarms.push(message)),
  };
  for (;;) {
    const process = writingProcess(store, { series, limits: LIMITS, runnerHooks });
    try {
      await process.runner.rebuild();
    } catch (error) {
      // On a busy machine, finding the leader can take longer than a call waits.
      if (error instanceof StoreError && error.failure === 'unavailable') continue;
      throw error;
    }
    process.runner.follow();
    return process;
  }
}

/** As a site does: what is not known to be recorded is sent again. */
async function enrol(process: WritingProcess, participantId: string): Promise<string> {
  for (;;) {
    const answer = await process.submit(randomize(participantId));
    if (answer !== 'unavailable') return answer;
  }
}

/** The participants in a log, in its order, which is checked to be one that an undisturbed log could have. */
async function allocatedIn(server: EventStoreDbServer | TestCluster): Promise<string[]> {
  const events = await eventsIn(scene.store(server, { limits: {} }));
  const ids = events.flatMap((event) =>
    event.type === 'ParticipantRandomized' ? [event.data.participantId] : [],
  );
  const undisturbed = new MemoryStore();
  const alone = writingProcess(undisturbed);
  await alone.submit(REGISTER);
  for (const id of ids) await alone.submit(randomize(id));
  expect(events.map(factOf)).toEqual((await eventsIn(undisturbed)).map(factOf));
  return ids;
}

it.each([1, 2])(
  'an EventStoreDB that fails at random accepts one event for each command from %d processes, in one order',
  async (processes) => {
    await check(
      fc.asyncProperty(appendFaults, readFaults, async (met, metByReads) => {
        const server = await scene.server();
        const stores = Array.from({ length: processes }, () => scene.store(server, { limits: TIMES }));
        const all = await Promise.all(stores.map((store, i) => processAt(store, i + 1)));
        for (const process of all) expect(await process.submit(REGISTER)).toMatch(/registered/);
        server.appends.next(...met);
        server.reads.next(...metByReads);
        const landing = setInterval(() => server.landLate(), 100);
        const ids = all.map((_, i) => participants(10, String(i)));
        const answers = await Promise.all(
          all.flatMap((process, i) => (ids[i] ?? []).map((id) => enrol(process, id))),
        );
        clearInterval(landing);
        server.landLate();
        for (const faults of [server.appends, server.reads]) faults.clear();
        // Sent again after it was recorded, an enrolment is answered as the duplicate that it is.
        for (const answer of answers) expect(answer).toMatch(/^(randomized|duplicate)$/);
        const written = await allocatedIn(server);
        expect([...written].sort()).toEqual(ids.flat());
        for (const process of all) {
          const { runner } = process;
          await vi.waitFor(() => expect(runner.revision(STREAM)).toBe(written.length), 10_000);
          runner.stop();
          expect(process.participants.inOrder.map(({ participantId }) => participantId)).toEqual(written);
        }
      }),
      { numRuns: RUNS },
    );
  },
);

type Loss = 'freezes' | 'freezes, and wakes as if it still led' | 'is cut off' | 'is killed' | 'resigns';

/** What happens to the leader; resolves when all nodes are back. */
async function lose(cluster: TestCluster, loss: Loss): Promise<void> {
  const old = cluster.leader;
  switch (loss) {
    case 'resigns':
      return cluster.resignLeader();
    case 'is cut off':
      return (await cluster.splitLeader())();
    case 'is killed':
      await cluster.killLeader();
      return cluster.restart(old);
    default:
      await cluster.freezeLeader();
      return cluster.thaw(old, loss === 'freezes' ? 0 : 300);
  }
}

const losses = fc.array(
  fc.record({
    loss: fc.constantFrom<Loss>(
      'freezes',
      'freezes, and wakes as if it still led',
      'is cut off',
      'is killed',
      'resigns',
    ),
    restMs: fc.integer({ min: 0, max: 400 }),
  }),
  { minLength: 1, maxLength: 3 },
);

it('an EventStoreDB cluster that loses its leaders at random, under load, accepts each command once, in one order, and raises no alarm', async () => {
  await check(
    fc.asyncProperty(losses, async (met) => {
      const cluster = await scene.cluster({ noticeMs: 200, electMs: 150 });
      const alarms: string[] = [];
      // As long as a service waits before it believes that records are lost.
      const limits = { ...TIMES, appendTimeoutMs: 1500, silentMs: 300, askMs: 300, settleMs: 10_000 };
      const stores = [1, 2].map(() => scene.store(cluster, { limits }));
      const all = await Promise.all(stores.map((store, i) => processAt(store, i + 1, alarms)));
      for (const process of all) expect(await process.submit(REGISTER)).toMatch(/registered/);
      let isOver = false;
      const enrolAll = async (process: WritingProcess, series: string) => {
        const ids: string[] = [];
        while (!isOver || ids.length < 5) {
          const id = `${series}-${ids.length}`;
          expect(await enrol(process, id)).toMatch(/^(randomized|duplicate)$/);
          ids.push(id);
          await delay(5);
        }
        return ids;
      };
      const enrolling = all.map((process, i) => enrolAll(process, String(i)));
      for (const { loss, restMs } of met) {
        await lose(cluster, loss);
        await delay(restMs);
      }
      isOver = true;
      const ids = (await Promise.all(enrolling)).flat();
      const written = await allocatedIn(cluster);
      expect([...written].sort()).toEqual(ids.sort());
      for (const { runner } of all) {
        await vi.waitFor(() => expect(runner.revision(STREAM)).toBe(written.length), 20_000);
        runner.stop();
      }
      expect(alarms).toEqual([]);
    }),
    { numRuns: Number(process.env['ELECTION_RUNS'] ?? 3) },
  );
});
