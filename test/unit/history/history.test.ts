import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { Runner } from '../../../projections/runner.ts';
import { participants, studyConfig, studyState } from '../../../src/core/study/fold.ts';
import {
  foldUntil,
  History,
  isBeyond,
  parseDay,
  parseInstant,
  parseRevision,
} from '../../../src/evidence/history/history.ts';
import { StoreError } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { paused, randomize, randomized, registered, resumed, STREAM, stored } from '../../support/facts.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { TrialRun } from '../../support/trial-run.ts';

const PAUSE = { act: 'StudyPaused', reason: 'a question' } as const;
const PROJECTIONS = { studyConfig, participants, studyState };
/** Two participants, and a pause between them. */
const trial = new TrialRun();
const [pause, resume] = [PAUSE, { ...PAUSE, act: 'StudyResumed' }] as const;
trial.all([randomize('001'), pause, resume, randomize('002')]);
const HISTORY: readonly StudyFact[] = trial.facts;

/** @param minutes of each event after 09:00, in the order of revisions */
async function storeOf(facts: readonly StudyFact[], minutes = facts.map((_, i) => i)) {
  const store = new MemoryStore();
  const records = facts.map((fact, revision) => {
    const start = `2026-03-01T09:${String(minutes[revision]).padStart(2, '0')}:00.000Z`;
    return stored(fact, revision, { tools: fixedTools(revision, start) });
  });
  await store.append(STREAM, -1, records);
  return store;
}

async function foldAll(store: MemoryStore) {
  const runner = new Runner(store, LOG_ID, Object.values(PROJECTIONS));
  await runner.rebuild();
  return runner;
}

const never = () => false;
const pastOf = (store: MemoryStore, isAfter: Parameters<typeof foldUntil>[3] = never) =>
  foldUntil({ store, logId: LOG_ID }, STREAM, PROJECTIONS, isAfter);

describe('the past', () => {
  it('at each revision is what the running service showed then', async () => {
    const store = await storeOf(HISTORY);
    for (const [revision] of HISTORY.entries()) {
      const then = await foldAll(await storeOf(HISTORY.slice(0, revision + 1)));
      const past = await pastOf(store, isBeyond({ type: 'revision', revision }));
      for (const [name, projection] of Object.entries(PROJECTIONS))
        expect(past.states[name as keyof typeof PROJECTIONS], name).toEqual(
          then.state<unknown>(projection, STREAM),
        );
      expect(past).toMatchObject({ revision, at: then.lastAt(STREAM) });
      expect(past.next?.revision).toBe(revision + 1 < HISTORY.length ? revision + 1 : undefined);
    }
  });

  it('of a stream that is not there is empty', async () => {
    const past = await pastOf(new MemoryStore());
    expect(past).toMatchObject({ revision: -1, at: undefined, next: undefined });
    expect(past.states.studyConfig).toBeUndefined();
  });

  it.each([
    ['before the clock ran ahead', '09:00', 0],
    ['when the fast clock is not yet reached, though later events say that they are earlier', '09:03', 1],
    ['when the fast clock is reached', '09:30', 4],
  ])('at an instant ends before the first event that is later: %s', async (_, time, revision) => {
    // The clock of revision 2 was half an hour ahead, and was set right after it.
    const store = await storeOf(HISTORY, [0, 1, 30, 2, 3]);
    const at = `2026-03-01T${time}:00.000Z`;
    expect((await pastOf(store, isBeyond({ type: 'instant', at }))).revision).toBe(revision);
  });

  it('cannot be made from a log with a record that was altered, is missing, or is of another log', async () => {
    const altered = stored(randomized('001'), 1);
    const record = Buffer.from(Buffer.from(altered.record).toString().replace('001-', '002-'));
    const cases: [Parameters<MemoryStore['append']>[2], RegExp][] = [
      [[stored(registered(), 0), { ...altered, record: Buffer.concat([record, record]) }], /\/1: .*leaf/],
      [[stored(registered(), 0), stored(randomized('001'), 2)], /\/1: the record says that it is/],
      [[stored(registered(), 0, { log: '0193a8e0-0000-7000-8000-00000000cafe' })], /\/0: .*another log/],
      [[stored(randomized('001'), 0)], /\/0: .*before StudyRegistered/],
    ];
    for (const [records, says] of cases) {
      const store = new MemoryStore();
      await store.append(STREAM, -1, records);
      await expect(pastOf(store)).rejects.toThrow(says);
    }
  });

  it('of a long stream is folded 50 records per turn of the event loop', async () => {
    const pauses = Array.from({ length: 150 }, (_, i) => (i % 2 === 0 ? paused : resumed));
    const facts = [registered(), ...pauses];
    const store = await storeOf(facts, Array(facts.length).fill(0));
    let turn = 0;
    let others = setImmediate(function count() {
      turn++;
      others = setImmediate(count);
    });
    const progress: { readonly records: number; readonly turn: number }[] = [];
    await foldUntil({ store, logId: LOG_ID }, STREAM, PROJECTIONS, never, (records) =>
      progress.push({ records, turn }),
    );
    clearImmediate(others);
    expect(progress.map(({ records }) => records)).toEqual([50, 100, 150, 151]);
    expect(new Set(progress.map(({ turn }) => turn)).size, 'each in a turn of its own').toBe(4);
  });
});

describe('the running service', () => {
  it('answers questions about the past one at a time, and refuses the ninth', async () => {
    const store = await storeOf(HISTORY);
    let reading = 0;
    let most = 0;
    const slow = {
      async *readStream(stream: string, from: number) {
        most = Math.max(most, ++reading);
        await new Promise((resolve) => setTimeout(resolve, 5));
        yield* store.readStream(stream, from);
        reading--;
      },
    };
    const history = new History({ store: slow, logId: LOG_ID });
    const asked = Array.from({ length: 9 }, () => history.foldUntil(STREAM, { studyConfig }, never));
    const settled = await Promise.allSettled(asked);
    expect(settled.map(({ status }) => status)).toEqual([...Array(8).fill('fulfilled'), 'rejected']);
    await expect(asked[8]).rejects.toMatchObject({ code: 'overloaded' });
    expect(most).toBe(1);
    expect((await history.foldUntil(STREAM, { studyConfig }, never)).revision).toBe(4);
  });

  it('says what is wrong with the log, without quoting it, and goes on', async () => {
    const failing = (error: Error) => ({
      // biome-ignore lint/correctness/useYield: it fails before the first page
      async *readStream(): AsyncGenerator<never> {
        throw error;
      },
    });
    const ask = (error: Error) =>
      new History({ store: failing(error), logId: LOG_ID }).foldUntil(STREAM, { studyConfig }, never);
    await expect(ask(new StoreError('busy', 'unclear', 'SQLITE_BUSY'))).rejects.toMatchObject({
      code: 'unavailable',
    });
    await expect(ask(new Error('a bug'))).rejects.toThrow('a bug');

    const broken = new MemoryStore();
    await broken.append(STREAM, -1, [stored(randomized('001'), 0)]);
    const history = new History({ store: broken, logId: LOG_ID });
    for (let i = 0; i < 10; i++)
      await expect(history.foldUntil(STREAM, { studyState }, never)).rejects.toMatchObject({
        code: 'halted',
      });
  });
});

it('a revision is a whole number of at most 15 digits', () => {
  for (const text of ['0', '17', '9'.repeat(15)]) expect(parseRevision(text), text).toBe(Number(text));
  for (const text of ['', '-1', '01', '1.0', '1e3', ' 1', '+1', '0x1', '9'.repeat(16), '１'])
    expect(parseRevision(text), text).toBeUndefined();
});

describe('an instant', () => {
  it.each([
    ['2026-03-01T09:00Z', '2026-03-01T09:00:00.000Z'],
    ['2026-03-01T09:00:01.5Z', '2026-03-01T09:00:01.500Z'],
    ['2026-03-01T09:00:01.123999Z', '2026-03-01T09:00:01.123Z'],
    ['2028-02-29T23:59:59.999Z', '2028-02-29T23:59:59.999Z'],
  ])('is read from %s, to the millisecond', (text, at) => {
    expect(parseInstant(text)).toBe(at);
  });

  it.each([
    ...['', 'now', '2026-03-01', 'T09:00Z', '2026-03-01T09:00', '2026-03-01T09:00:00+01:00'],
    ...['2026-03-01 09:00:00Z', '2026-03-01t09:00:00z', '2026-03-01T09:00.5Z'],
    ...['2026-02-29T09:00Z', '2026-13-01T09:00Z'],
    ...['2026-03-01T24:00Z', '2026-03-01T09:60Z', '2026-03-01T09:00:60Z'],
  ])('is not read from %j', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  it('is a whole day, in UTC, where a day is accepted', () => {
    expect(parseDay('2026-11-22', 'first')).toBe('2026-11-22T00:00:00.000Z');
    expect(parseDay('2026-11-22', 'last')).toBe('2026-11-22T23:59:59.999Z');
    for (const edge of ['first', 'last'] as const)
      expect(parseDay('2026-11-22T09:00Z', edge)).toBe('2026-11-22T09:00:00.000Z');
    for (const text of ['', '2026-02-29', '2026-11', '2026-11-22T', '22.11.2026', '2026-11-22 '])
      expect(parseDay(text, 'last'), text).toBeUndefined();
  });
});
