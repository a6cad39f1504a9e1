import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { StudyCommand } from '../../../src/core/study/commands.ts';
import { evolve, type StudyState } from '../../../src/core/study/fold.ts';
import type { Urgency } from '../../../src/core/write/decider.ts';
import type { WriterLimits } from '../../../src/core/write/writer.ts';
import { StoreError } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { asCommand, type Written, writtenDecider } from '../../support/acts.ts';
import { CONFIGURATION, NURSE, paused, REGISTER, randomize, STREAM, stored } from '../../support/facts.ts';
import { type Fault, FaultyStore, lost } from '../../support/faulty-store.ts';
import { check } from '../../support/property.ts';
import { eventsIn, factOf, type WritingProcess, writingProcess } from '../../support/writing-process.ts';

/** A deadline that a test can wait for, and much longer than the few turns of an attempt take on a busy machine. */
const SHORT: Partial<WriterLimits> = { deadlineMs: 1000, appendTimeoutMs: 60 };

/**
 * A registered study, and two processes that know it: `here` is under test and sees `store`; `there` is another one,
 * whose store never fails.
 */
async function scene(limits: Partial<WriterLimits> = {}) {
  const memory = new MemoryStore();
  const store = new FaultyStore(memory);
  const here = writingProcess(store, { series: 1, limits });
  const there = writingProcess(memory, { series: 2 });
  await there.submit(REGISTER);
  await here.runner.rebuild();
  return { memory, store, here, there };
}
type Scene = Awaited<ReturnType<typeof scene>>;

const enrolled = async ({ memory }: Scene) =>
  (await eventsIn(memory)).flatMap((event) =>
    event.type === 'ParticipantRandomized' ? [event.data.participantId] : [],
  );

/** Submits commands, or participants by their ids, at the same time. @returns how each is answered */
const together = (process: WritingProcess, ...commands: readonly (Written | string)[]) =>
  Promise.all(commands.map((one) => process.submit(typeof one === 'string' ? randomize(one) : one)));
const PAUSE = { act: 'StudyPaused', user: 'operator', reason: 'data review' } as const;
const RESUME = { act: 'StudyResumed', user: 'operator', reason: 'review done' } as const;

describe('a command', () => {
  it('is answered with its outcome and the revision of its fact, which names who requested it and when', async () => {
    const { here, memory } = await scene();
    const actor = { ...NURSE, onBehalfOf: 'Dr. Müller' };
    const written = await here.writer.submit(randomize('001'), actor);
    expect(written).toEqual({ outcome: { type: 'randomized', participantId: '001' }, revision: 1 });
    const last = (await eventsIn(memory)).at(-1);
    expect(last).toMatchObject({ actor, at: '2026-03-01T09:00:00.000Z', revision: 1 });
  });

  it('is decided by the clock that its record shows', async () => {
    const memory = new MemoryStore();
    const here = writingProcess(memory, { start: '2026-03-01T09:59:58.000Z' });
    await here.submit(REGISTER);
    const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-02' }];
    // At first refused, as the day begins nowhere yet. Before that is said, the log is read and the clock again.
    const closing = {
      act: 'StudyClosed',
      user: 'operator',
      cause: 'target',
      reason: 'all are in',
      approvals,
    };
    expect(await here.submit(closing as Written)).toBe('recorded');
    expect((await eventsIn(memory)).at(-1)).toMatchObject({ at: '2026-03-01T10:00:00.000Z' });
  });

  it('that changes nothing is answered with the revision at which it was decided, and nothing is sent', async () => {
    const { here, store } = await scene();
    expect(await here.writer.submit(REGISTER, NURSE)).toEqual({
      outcome: { type: 'already-registered' },
      revision: 0,
    });
    expect(store.sent).toEqual([]);
  });

  it('is visible to every reader of this process when it is answered, and to none before', async () => {
    const { here, store } = await scene();
    const visible = () => here.participants.inOrder.map(({ participantId }) => participantId);
    let beforeTheAnswer: string[] | undefined;
    store.next(async (send) => {
      const result = await send();
      beforeTheAnswer = visible();
      return result;
    });
    await here.submit(randomize('001'));
    expect(beforeTheAnswer).toEqual([]);
    expect(visible()).toEqual(['001']);
  });

  it('is reported when its clock is behind the last event, even if its own record was folded first', async () => {
    const memory = new MemoryStore();
    const store = new FaultyStore(memory);
    const told: string[][] = [];
    const hooks = { onClockSetBack: (...times: string[]) => void told.push(times) };
    const here = writingProcess(store, { series: 1, hooks });
    const there = writingProcess(memory, { series: 2 });
    await there.submit(REGISTER);
    // The clock of each process advances by a second with each event, so this one is now behind.
    for (const id of ['a', 'b', 'c']) await there.submit(randomize(id));
    await here.runner.rebuild();
    store.next(async (send) => {
      const result = await send();
      await here.runner.catchUp(STREAM);
      return result;
    });
    expect(await here.submit(randomize('001'))).toBe('randomized');
    expect(told).toEqual([[STREAM, '2026-03-01T09:00:03.000Z', '2026-03-01T09:00:00.000Z']]);
  });
});

describe('commands that arrive together', () => {
  it('share one append, see each other, and each has its own answer', async () => {
    const all = await scene();
    const again = randomize('003', { idempotencyKey: 'k' });
    const asked = [randomize('001'), randomize('001'), again, again, randomize('002')];
    const answers = await Promise.all(asked.map((one) => all.here.writer.submit(one, NURSE)));
    expect(answers.map(({ outcome, revision }) => `${outcome.type} ${revision}`)).toEqual([
      ...['randomized 1', 'duplicate 1', 'randomized 2', 'repeated 2', 'randomized 3'],
    ]);
    expect(all.store.sent).toHaveLength(1);
    expect(await enrolled(all)).toEqual(['001', '003', '002']);
  });

  it.each([
    [{ batchCommands: 3 }, [3, 3, 2]],
    [{ batchBytes: 1 }, Array(8).fill(1)],
  ])('are split into appends of limited length and size: %j', async (limits, lengths) => {
    const all = await scene(limits);
    await together(all.here, ...'01234567');
    expect(all.store.sent.map(({ records }) => records.length)).toEqual(lengths);
    expect(await enrolled(all)).toEqual([...'01234567']);
  });

  it('fill an append up to its size in bytes', async () => {
    const batchBytes = 5000;
    const all = await scene({ batchBytes });
    await together(all.here, ...Array.from({ length: 20 }, (_, i) => `id-${i}`));
    for (const { records } of all.store.sent) {
      expect(records.length).toBeGreaterThan(1);
      const bytes = records.reduce((sum, { record, sealed }) => sum + record.length + sealed.length, 0);
      expect(bytes).toBeLessThanOrEqual(batchBytes);
    }
    expect(await enrolled(all)).toHaveLength(20);
  });

  it('leave turns to other work if deciding takes long, whether they are written or refused', async () => {
    for (const isRefused of [false, true]) {
      const all = await scene({ turnMs: 25 });
      if (isRefused) await all.here.submit(PAUSE);
      // Whoever looks at the clock finds 10 ms gone: the writer does so for each command.
      let now = performance.now();
      vi.spyOn(performance, 'now').mockImplementation(() => (now += 10));
      let answered = 0;
      let most = 0;
      const submitted = Array.from({ length: 40 }, (_, i) =>
        all.here.submit(randomize(`${i}`)).then(() => answered++),
      );
      while (answered < 40) {
        const before = answered;
        await new Promise(setImmediate);
        most = Math.max(most, answered - before);
      }
      await Promise.all(submitted);
      vi.restoreAllMocks();
      expect(most).toBeLessThan(5);
      expect(await enrolled(all)).toHaveLength(isRefused ? 0 : 40);
    }
  });

  it('do not fail with one among them that cannot be decided or encoded', async () => {
    const all = await scene();
    const undecidable = randomize('002', { levels: null as never });
    const outcomes = await together(all.here, '001', undecidable, '\ud800', { ...PAUSE, reason: '' }, '003');
    expect(outcomes).toEqual(['randomized', 'TypeError', 'TypeError', 'RecordError', 'randomized']);
    expect(await enrolled(all)).toEqual(['001', '003']);
    expect(all.here.runner.halted(STREAM)).toBeUndefined();
  });
});

describe('an urgent command', () => {
  const reveal = (last: number, urgency?: Urgency) => ({
    ...asCommand({
      ...({ act: 'AllocationRevealed', participantId: '000', user: NURSE.user } as const),
      ...{ category: 'emergency', grounds: { reason: 'anaphylaxis' } },
      reveal: `a3b54be0-6f9c-4d0c-9d1c-0e3a0c3f4d1${last}`,
    }),
    urgency,
  });

  it('overtakes those that wait, in an append of its own, which may use the reserve if the command may', async () => {
    const { here, store } = await scene();
    await here.submit(randomize('000'));
    store.next('none');
    store.always = 'full-but-for-urgent';
    const before = store.sent.length;
    const settled = await Promise.allSettled(
      [randomize('001'), reveal(1), reveal(2, 'first'), reveal(3, 'reserve')].map((command) =>
        here.writer.submit(asCommand<StudyCommand>(command), NURSE),
      ),
    );
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
    const sent = store.sent
      .slice(before)
      .map(({ mayUseReserve, records }) => [mayUseReserve, records.length]);
    expect(sent).toEqual([
      [true, 1],
      [false, 1],
      [false, 2],
    ]);
  });

  it('that may have been written when the disk was full is sent again with the room of the reserve', async () => {
    const { here, store } = await scene();
    await here.submit(randomize('000'));
    const before = store.sent.length;
    store.next(async () => {
      throw new StoreError('full', 'unclear', 'the flush failed');
    });
    store.always = 'full-but-for-urgent';
    const { outcome } = await here.writer.submit(reveal(1, 'first'), NURSE);
    expect(outcome).toMatchObject({ type: 'recorded' });
    expect(store.sent.slice(before).map(({ mayUseReserve }) => mayUseReserve)).toEqual([false, true]);
  });
});

describe('the limits of the writer', () => {
  it('refuse commands when too many wait, and forget none that wait', async () => {
    const { here } = await scene({ queue: 3 });
    expect(await together(here, ...'01234')).toEqual([
      ...['randomized', 'randomized', 'randomized', 'overloaded', 'overloaded'],
    ]);
    expect(await here.submit(randomize('9'))).toBe('randomized');
  });

  it('end the wait for a store that does not answer, and accept the next command', async () => {
    const all = await scene(SHORT);
    all.store.always = 'lost-before';
    await expect(all.here.writer.submit(randomize('001'), NURSE)).rejects.toMatchObject({
      name: 'DomainError',
      code: 'unavailable',
      message: expect.stringContaining('send the same request again'),
    });
    const attempts = all.store.sent.length;
    await new Promise((resolve) => setTimeout(resolve, SHORT.appendTimeoutMs));
    expect(all.store.sent, 'nothing is sent after the answer').toHaveLength(attempts);
    all.store.always = 'none';
    expect(await all.here.submit(randomize('001'))).toBe('randomized');
    expect(await enrolled(all)).toEqual(['001']);
  });

  it('refuse commands that waited in the queue for too long without trying them', async () => {
    const all = await scene({ ...SHORT, batchCommands: 1 });
    all.store.always = 'lands-late';
    expect(await together(all.here, '001', '002', '003')).toEqual(Array(3).fill('unavailable'));
    expect(new Set(all.store.sent.map(({ records }) => idIn(records[0]?.record)))).toEqual(new Set(['001']));
  });

  it('do not keep a command that was recorded when it was sent before from hearing so, however late', async () => {
    const { here, store } = await scene({ ...SHORT, batchCommands: 1 });
    await here.submit(randomize('001'));
    store.always = 'lost-before';
    expect(await together(here, '002', '001')).toEqual(['unavailable', 'duplicate']);
  });

  it('end the wait for a store that is silent to the end, reads included, and if others are always first', async () => {
    const { memory, here, store } = await scene(SHORT);
    store.always = 'conflict';
    expect(await here.submit(randomize('001'))).toBe('unavailable');
    store.always = 'lands-late';
    vi.spyOn(memory, 'readStream').mockImplementation(async function* () {
      await new Promise(() => undefined);
    });
    await expect(here.writer.submit(randomize('001'), NURSE)).rejects.toThrow('not known to be recorded');
  });
});

describe('a conflict', () => {
  it('causes a new decision on top of what the other process wrote, which may be another one', async () => {
    const all = await scene();
    await all.there.submit(randomize('001'));
    expect(await all.here.submit(randomize('002'))).toBe('randomized');
    expect(all.store.sent).toHaveLength(2);
    await all.there.submit(randomize('003'));
    await all.there.submit(PAUSE);
    expect(await together(all.here, '003', '004')).toEqual(['duplicate', 'refused']);
    expect(await enrolled(all)).toEqual(['001', '002', '003']);
  });

  it('is the only thing that calls the conflict hook', async () => {
    const memory = new MemoryStore();
    const told: string[] = [];
    const onAppend = (_: unknown, eventTypes: readonly string[]) => void told.push(eventTypes.join());
    const others = { onConflict: () => told.push('conflict'), onUnclear: () => told.push('unclear') };
    const here = writingProcess(memory, { hooks: { onAppend, ...others } });
    await writingProcess(memory, { series: 1 }).submit(REGISTER);
    await here.submit(REGISTER);
    await here.submit(randomize('001'));
    expect(told).toEqual(['StudyRegistered', 'conflict', 'ParticipantRandomized']);
  });
});

describe('a refusal', () => {
  /** Both processes know that the study is paused, and how often `here` reads from now on. */
  async function pausedScene(limits: Partial<WriterLimits> = {}) {
    const all = await scene(limits);
    await all.here.submit(randomize('001', { idempotencyKey: 'k' }));
    await all.here.submit(PAUSE);
    await all.there.runner.rebuild();
    all.store.reads = 0;
    return all;
  }

  it('is not older than what another process has answered, beside others that are answered from memory', async () => {
    const { here, there } = await pausedScene();
    expect(await there.submit(RESUME)).toBe('recorded');
    expect(await together(here, '001', '002', randomize('001', { idempotencyKey: 'k' }))).toEqual([
      ...['duplicate', 'randomized', 'repeated'],
    ]);
  });

  it('costs one read for all commands that are refused together, and what cannot change costs none', async () => {
    const { here, store } = await pausedScene();
    const repeated = randomize('001', { idempotencyKey: 'k' });
    expect(await together(here, '001', repeated, randomize('9', { idempotencyKey: 'k' }))).toEqual([
      ...['duplicate', 'repeated', 'idempotency-key-reused'],
    ]);
    expect(store.reads).toBe(0);
    expect(await together(here, '002', '003', '004')).toEqual(Array(3).fill('refused'));
    expect(await here.submit(PAUSE)).toBe('already');
    expect(store.reads).toBe(2);
  });

  it('needs no read after a conflict, which has read the tail', async () => {
    const { here, there, store } = await pausedScene();
    await here.submit(RESUME);
    await there.submit(PAUSE);
    store.reads = 0;
    expect(await here.submit(randomize('002'))).toBe('refused');
    expect(store.reads).toBe(1);
  });

  it('waits for a log that can be read again before the deadline', async () => {
    const { here, there, store } = await pausedScene();
    await there.submit(RESUME);
    store.unreadable = true;
    const answer = here.submit(randomize('002'));
    await vi.waitFor(() => expect(store.reads).toBeGreaterThan(2));
    store.unreadable = false;
    expect(await answer).toBe('randomized');
  });

  it('is "unavailable" while the log cannot be read, and what cannot change is still answered', async () => {
    const { here, store } = await pausedScene(SHORT);
    store.unreadable = true;
    expect(await together(here, '002', '001', randomize('001', { idempotencyKey: 'k' }))).toEqual([
      ...['unavailable', 'duplicate', 'repeated'],
    ]);
    await expect(here.writer.submit(randomize('002'), NURSE)).rejects.toThrow('nothing was recorded');
  });
});

const notSent: Fault = () =>
  Promise.reject(new StoreError('unavailable', 'not-written', 'there is no connection'));

describe('an append that certainly was not written', () => {
  it('is refused at once, and the answer says so', async () => {
    const { here, store } = await scene();
    store.next(notSent);
    await expect(here.writer.submit(randomize('001'), NURSE)).rejects.toThrow('nothing was recorded');
    expect(store.sent).toHaveLength(1);
  });

  it('is sent again until the deadline if an answer was lost before: another leader may be coming', async () => {
    const all = await scene();
    all.store.next('lost-before', notSent, notSent, notSent);
    expect(await all.here.submit(randomize('001'))).toBe('randomized');
    expect(await enrolled(all)).toEqual(['001']);
  });
});

describe('what is known', () => {
  it('is answered beside commands whose append fails', async () => {
    const { here, store } = await scene();
    await here.submit(randomize('001'));
    store.next('full');
    expect(await together(here, '002', '001', '002')).toEqual(['unavailable', 'duplicate', 'unavailable']);
    expect(await here.submit(randomize('002'))).toBe('randomized');
  });

  it.each<[string, string, Fault[]]>([
    ['the disk is full: nothing was recorded', 'there was no room', ['full']],
    ['not known to be recorded', 'the answer was lost', ['lost-before', 'lost-before']],
    ['not known to be recorded', 'an answer was lost before one was a refusal', ['lost-before', 'full']],
    ['not known to be recorded', 'that of an earlier round is open', ['lands-late', 'conflict', notSent]],
  ])('is said: "%s" when %s', async (said, _, faults) => {
    const { here, store } = await scene(SHORT);
    store.next(...faults);
    store.always = 'lost-before';
    const failed = expect.objectContaining({ code: 'unavailable', message: expect.stringContaining(said) });
    await expect(here.writer.submit(randomize('001'), NURSE)).rejects.toEqual(failed);
  });
});

describe('an append whose fate is unclear', () => {
  it.each<[string, Fault[]]>([
    ['it was lost before it took effect', ['lost-before']],
    ['it was lost after it took effect', ['lost-after']],
    ['both, several times', ['lost-before', 'lost-before', 'lost-after', 'lost-before', 'lost-after']],
    ['no answer came', ['lands-late']],
  ])('is sent again, identical, and makes exactly one event: %s', async (_, faults) => {
    const all = await scene({ appendTimeoutMs: 20 });
    all.store.next(...faults);
    expect(await together(all.here, '001', '002')).toEqual(['randomized', 'randomized']);
    expect(all.store.sent).toHaveLength(faults.length + 1);
    for (const sent of all.store.sent) expect(sent).toEqual(all.store.sent[0]);
    await all.store.land();
    expect(await enrolled(all)).toEqual(['001', '002']);
  });

  const landing =
    ({ store }: Scene, then?: () => Promise<unknown>) =>
    async () => {
      await store.land();
      await then?.();
      throw lost();
    };
  const thenPaused = (all: Scene): Fault[] => ['lands-late', landing(all, () => all.there.submit(PAUSE))];
  const followed =
    ({ there }: Scene): Fault =>
    async (send) => {
      await send();
      await there.submit(randomize('002'));
      throw lost();
    };
  /** What happens to the appends, and to all that follow. */
  it.each<[string, (all: Scene) => Fault[], Fault, others: readonly string[]]>([
    ['it took effect and another process wrote after it', (all) => [followed(all)], 'none', ['002']],
    ['it lands late, with no answer', (all) => ['lands-late', landing(all)], 'lost-before', []],
    ['it lands late, and a new decision would differ', thenPaused, 'lost-before', []],
    ['the store calls it a conflict', () => ['lost-after', 'conflict'], 'none', []],
    ['the store then has no room', () => ['lost-after', 'full'], 'none', []],
    // It lands before the attempt that was decided after the conflict, which is lost.
    ['it is called a conflict', (all) => ['lands-late', 'conflict', landing(all)], 'none', []],
  ])('counts as success for its command if %s', async (_, faults, always, others) => {
    const all = await scene({ ...SHORT, ...(always === 'none' && { appendTimeoutMs: 20 }) });
    all.store.next(...faults(all));
    all.store.always = always;
    const { outcome, revision } = await all.here.writer.submit(randomize('001'), NURSE);
    expect([outcome.type, revision]).toEqual(['randomized', 1]);
    expect(await enrolled(all)).toEqual(['001', ...others]);
  });

  it('is not made again if it took effect, and that was undone meanwhile', async () => {
    const all = await scene();
    const afterResuming: Fault = async () => {
      await all.there.submit(RESUME);
      return { type: 'conflict' };
    };
    all.store.next('lost-after', afterResuming);
    expect(await all.here.submit(PAUSE)).toBe('recorded');
    const types = (await eventsIn(all.memory)).map(({ type }) => type);
    expect(types).toEqual(['StudyRegistered', 'StudyPaused', 'StudyResumed']);
  });

  it.each([true, false])('that was given up, and lands: %s, makes no second participant', async (lands) => {
    const all = await scene(SHORT);
    const again = randomize('001', { idempotencyKey: 'k' });
    all.store.next('lands-late');
    all.store.always = 'lost-before';
    expect(await all.here.submit(again)).toBe('unavailable');
    if (lands) await all.store.land();
    all.store.always = 'none';
    expect(await all.here.submit(again)).toBe(lands ? 'repeated' : 'randomized');
    await all.store.land();
    expect(await enrolled(all)).toEqual(['001']);
  });

  it('that landed is a success even if commands in its batch fail', async () => {
    // One record fits into a batch: the first command lands, then the second meets a full disk.
    const all = await scene({ batchBytes: 1 });
    all.store.next('lost-after', 'conflict', 'full');
    expect(await together(all.here, '001', '002')).toEqual(['randomized', 'unavailable']);
    expect(await enrolled(all)).toEqual(['001']);
  });

  it('keeps everybody from hearing that nothing was recorded until another record has its place', async () => {
    const all = await scene(SHORT);
    const said = (id: string) => all.here.writer.submit(randomize(id), NURSE).catch(({ message }) => message);
    all.store.next('lands-late');
    all.store.always = notSent;
    const unknown = expect.stringContaining('not known to be recorded');
    // The second is the same request, which may still be recorded; the third waits until it is too late.
    expect(await said('001')).toEqual(unknown);
    expect(await said('001')).toEqual(unknown);
    all.store.always = 'conflict';
    expect(await said('001')).toEqual(unknown);
    all.store.always = notSent;
    await all.there.submit(randomize('002'));
    await all.here.runner.catchUp(STREAM);
    expect(await said('001')).toContain('nothing was recorded');
    await all.store.land();
    expect(await enrolled(all)).toEqual(['002']);
  });

  it('is not denied by a gate that closes meanwhile', async () => {
    const all = await scene(SHORT);
    const closing: Fault = async () => {
      await all.memory.append('access', -1, [stored(paused, 0)]);
      await all.here.runner.catchUp('access');
      return { type: 'conflict' };
    };
    all.store.next('lands-late', closing);
    const answer = all.here.writer.submit(randomize('001'), NURSE);
    await expect(answer).rejects.toThrow('the log takes nothing more: it is not known to be recorded');
    expect(await all.here.submit(randomize('001'))).toBe('halted');
  });

  it('is unavailable, and not lost, if nothing can be read either', async () => {
    const all = await scene(SHORT);
    all.store.next('lost-after');
    all.store.always = 'lost-before';
    all.store.unreadable = true;
    expect(await all.here.submit(randomize('001'))).toBe('unavailable');
    all.store.always = 'none';
    all.store.unreadable = false;
    expect(await all.here.submit(randomize('001'))).toBe('duplicate');
  });
});

it('a stream that cannot be understood accepts no more commands', async () => {
  const all = await scene();
  const { record, sealed, leaf } = stored(paused, 1);
  await all.memory.append(STREAM, 0, [{ record, sealed, leaf: Uint8Array.from(leaf, (byte) => byte ^ 1) }]);
  expect(await all.here.submit(randomize('001'))).toBe('halted');
  const sent = all.store.sent.length;
  expect(await all.here.submit(randomize('001'))).toBe('halted');
  expect(all.store.sent).toHaveLength(sent);
});

it('draining waits until every submitted command has been answered', async () => {
  const all = await scene({ batchCommands: 2 });
  let answered = 0;
  for (let i = 0; i < 7; i++) void all.here.submit(randomize(`${i}`)).then(() => answered++);
  await all.here.writer.drain();
  expect(answered).toBe(7);
  await all.here.writer.drain();
});

const someCommand: fc.Arbitrary<StudyCommand> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        id: fc.constantFrom('001', '002', '003', '004', '005'),
        levels: fc.tuple(...CONFIGURATION.factors.map(({ levels }) => fc.constantFrom(...levels))),
        user: fc.constantFrom('nurse', 'doctor'),
        idempotencyKey: fc.constantFrom(undefined, 'k1', 'k2'),
        suspended: fc.boolean(),
      })
      .map(({ id, ...more }) => randomize(id, more)),
  },
  { weight: 2, arbitrary: fc.constantFrom(PAUSE, RESUME).map((act) => asCommand<StudyCommand>(act)) },
  { weight: 1, arbitrary: fc.constant<StudyCommand>(REGISTER) },
);
const commands = fc.array(someCommand, { maxLength: 30 }).map((list) => [REGISTER, ...list]);
const upTo = (max: number) => fc.integer({ min: 1, max });
/** Bytes in an append. */
const sizes = fc.constantFrom(1, 2500, 512 * 1024);
/** The actor's user is the command's: what the HTTP layer sees to. */
const submitAs = (process: WritingProcess, command: StudyCommand) =>
  process.submit(command, { ...NURSE, user: command.type === 'randomize' ? command.user : 'nurse' });

describe('whatever commands are given,', () => {
  it('batches of one and of thousands give the same facts and the same answers', async () => {
    await check(
      fc.asyncProperty(commands, upTo(8), sizes, async (list, batchCommands, batchBytes) => {
        const one = new MemoryStore();
        const alone = writingProcess(one);
        const answersAlone: string[] = [];
        for (const command of list) answersAlone.push(await submitAs(alone, command));

        const two = new MemoryStore();
        const together = writingProcess(two, { limits: { batchCommands, batchBytes } });
        const answersTogether = await Promise.all(list.map((command) => submitAs(together, command)));

        expect(answersTogether).toEqual(answersAlone);
        expect((await eventsIn(two)).map(factOf)).toEqual((await eventsIn(one)).map(factOf));
      }),
    );
  });

  it('a store that fails now and then changes neither facts nor answers', async () => {
    const some = (...faults: Fault[]) =>
      fc.array(fc.constantFrom<Fault>('none', ...faults), { maxLength: 20 });
    // Not both: commands whose facts landed would keep them, and those without a fact be decided after them.
    const faults = fc.oneof(some('lost-before', 'lost-after'), some('lost-before', 'conflict'));
    await check(
      fc.asyncProperty(commands, faults, upTo(8), async (list, met, batchCommands) => {
        const sound = new MemoryStore();
        const undisturbed = writingProcess(sound);
        const expected = await Promise.all(list.map((command) => submitAs(undisturbed, command)));

        const memory = new MemoryStore();
        const store = new FaultyStore(memory);
        store.next(...met);
        const process = writingProcess(store, { limits: { batchCommands } });
        expect(await Promise.all(list.map((command) => submitAs(process, command)))).toEqual(expected);
        expect((await eventsIn(memory)).map(factOf)).toEqual((await eventsIn(sound)).map(factOf));
        const rebuilt = writingProcess(memory);
        await rebuilt.runner.rebuild();
        expect(process.participants).toEqual(rebuilt.participants);
      }),
    );
  });

  it('no answer says that nothing was recorded of what is, or will be', async () => {
    const met = fc.array(
      fc.constantFrom<Fault>(
        ...(['none', 'none', 'lost-before', 'lost-after', 'lands-late', 'conflict', 'full'] as const),
        notSent,
      ),
      { maxLength: 30 },
    );
    // Of each participant, the requests come one after the other.
    const rounds = fc.array(fc.uniqueArray(fc.constantFrom('1', '2', '3', '4')), { maxLength: 8 });
    await check(
      fc.asyncProperty(met, rounds, upTo(3), fc.boolean(), async (faults, asked, batchCommands, isDown) => {
        const all = await scene({ batchCommands, deadlineMs: 40, appendTimeoutMs: 5 });
        all.store.next(...faults);
        if (isDown) all.store.always = notSent;
        const denied = new Set<string>();
        for (const ids of asked) {
          const answers = ids.map(async (id) => {
            denied.delete(id);
            await all.here.writer.submit(randomize(id), NURSE).catch(({ message }) => {
              if (message.includes('nothing was recorded')) denied.add(id);
            });
          });
          if (ids.length % 2 === 0) await all.store.land();
          await Promise.all(answers);
        }
        await all.store.land();
        expect((await enrolled(all)).filter((id) => denied.has(id))).toEqual([]);
      }),
    );
  });

  it('two processes with one store stay serial: each fact follows from the ones before it', async () => {
    await check(
      fc.asyncProperty(commands, commands, upTo(5), async (mine, yours, batchCommands) => {
        const memory = new MemoryStore();
        const one = writingProcess(memory, { series: 1, limits: { batchCommands } });
        const two = writingProcess(memory, { series: 2, limits: { batchCommands } });
        const answers = await Promise.all([
          ...mine.map((command) => submitAs(one, command)),
          ...yours.map((command) => submitAs(two, command)),
        ]);

        const events = await eventsIn(memory);
        const facts = ['registered', 'randomized', 'recorded'];
        expect(answers.filter((answer) => facts.includes(answer))).toHaveLength(events.length);
        let state: StudyState = { status: 'unregistered' };
        for (const event of events) {
          expect(factOf(event)).toEqual(writtenDecider.decide(state, commandOf(event)).fact);
          state = evolve(state, event);
        }
      }),
    );
  });
});

/** The command that an event answered, as far as the fact depends on it. */
function commandOf(event: Awaited<ReturnType<typeof eventsIn>>[number]): Written {
  switch (event.type) {
    case 'StudyRegistered':
      return REGISTER;
    case 'ParticipantRandomized':
      return randomize(event.data.participantId, {
        levels: event.data.levels.map(({ level }) => level),
        user: event.actor.user,
        idempotencyKey: event.sections.request?.idempotencyKey,
      });
    case 'StudyPaused':
    case 'StudyResumed':
      return { act: event.type, user: 'operator', reason: event.data.reason };
    default:
      throw new Error(event.type);
  }
}

function idIn(record: Uint8Array | undefined): string {
  return JSON.parse(Buffer.from(record ?? '{}').toString()).data.participantId;
}
