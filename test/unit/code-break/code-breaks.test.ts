import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Actor, decodeRecord } from '../../../events/record.ts';
import { access } from '../../../projections/access.ts';
import { Runner } from '../../../projections/runner.ts';
import { DomainError, type DomainErrorCode } from '../../../src/base/errors.ts';
import { design, participants, studyConfig, studyState } from '../../../src/core/study/fold.ts';
import { Studies } from '../../../src/core/study/studies.ts';
import { CodeBreaks } from '../../../src/service/code-break/code-breaks.ts';
import type { PendingReveal, PendingReveals } from '../../../src/service/code-break/pending-reveals.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { CONFIGURATION, NURSE, OPERATOR, randomize, SEED } from '../../support/facts.ts';
import { FaultyStore } from '../../support/faulty-store.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';

afterEach(() => vi.useRealTimers());

/** A file in memory, of which `fails` says why it cannot be written. */
class Lines {
  readonly lines: PendingReveal[] = [];
  fails: Error | undefined;
  room = Infinity;
  async add(reveal: PendingReveal, leaving = 0) {
    if (this.fails) throw this.fails;
    if (this.room < leaving) throw NO_SPACE;
    this.lines.push(reveal);
  }
  async list() {
    return { reveals: [...this.lines], damaged: 0 };
  }
  async remove(recorded: ReadonlySet<string>) {
    this.lines.splice(0, Infinity, ...this.lines.filter(({ reveal }) => !recorded.has(reveal)));
  }
}

const NO_SPACE = new Error('no space left on device');

const ASKED = {
  participantId: '001',
  category: 'emergency',
  grounds: { reason: 'anaphylaxis, ICU', requestedBy: 'Dr. K.' },
} as const;

/** A study with participant 001, and what happens when its code is broken. */
async function scene() {
  const store = new FaultyStore(new MemoryStore());
  const runner = new Runner(store, LOG_ID, [access, studyConfig, studyState, participants, design]);
  let refusal: (stream: string) => DomainError | undefined = () => undefined;
  const gate = { refusal: (stream: string) => refusal(stream), danger: () => undefined };
  const studies = new Studies({ store, logId: LOG_ID, runner, gate, tools: fixedTools(1) } as never);
  await studies.register(CONFIGURATION, SEED, OPERATOR);
  const study = () => {
    const found = studies.find(CONFIGURATION.name);
    if (!found) throw new Error('not registered');
    return found;
  };
  await studies.submit(study().stream, randomize('001'), NURSE);
  const file = new Lines();
  const hooks = { onPending: vi.fn(), onUnrecorded: vi.fn() };
  const pending = file as unknown as PendingReveals;
  const codeBreaks = new CodeBreaks({ studies, runner, pending }, hooks);
  const arm = runner.state(participants, study().stream).find('001')?.treatment;
  /** What is written to all streams, or only to this one. */
  const refuse = (code: DomainErrorCode | undefined, only?: string) => {
    const error = code && new DomainError(code, `it is ${code}`);
    refusal = (stream) => (only === undefined || stream === only ? error : undefined);
  };
  /** Asks for the arm, or for that of another. */
  const reveal = (more: Partial<Parameters<CodeBreaks['reveal']>[1]> = {}, actor: Actor = OPERATOR) =>
    codeBreaks.reveal(study(), { ...ASKED, ...more }, actor);
  const shown = { subject: { participant: { treatment: arm } } };
  return { store, codeBreaks, reveal, study, studies, file, hooks, arm, shown, refuse };
}

/** What is left once everything is in the log. */
const NOTHING = { left: [], damaged: 0 };

it('a code-break by the pack shows only the pack if nobody had it then, although somebody gets it right after', async () => {
  const { codeBreaks, study, studies } = await scene();
  const entries = CONFIGURATION.treatments.map((treatment, i) => ({ code: `P-${i}`, treatment }));
  const list = { type: 'register-packs', list: 1, key: '0f'.repeat(16), entries } as const;
  await studies.submit(study().stream, list, OPERATOR);
  const { category, grounds } = ASKED;
  // They are written together.
  const [asked] = await Promise.all([
    Promise.all(entries.map(({ code }) => codeBreaks.reveal(study(), { code, category, grounds }, OPERATOR))),
    studies.submit(study().stream, randomize('002'), NURSE),
  ]);
  expect(asked).toMatchObject(entries.map((pack) => ({ type: 'revealed', subject: { pack } })));
});

describe('a code-break in an emergency', () => {
  it('is in the log before the arm is given', async () => {
    const { reveal, study, shown, file } = await scene();
    expect(await reveal()).toMatchObject({ type: 'revealed', recordedIn: 'log', revision: 2, ...shown });
    expect(study().revision).toBe(2);
    expect(file.lines).toEqual([]);
  });

  it.each(['rolled-back', 'moved', 'halted', 'endangered', 'identity'] as const)(
    'goes to the file at once, and the arm to the physician, when the log is %s',
    async (code) => {
      const { codeBreaks, reveal, study, arm, shown, file, hooks, refuse } = await scene();
      refuse(code);
      expect(await reveal()).toMatchObject({ type: 'revealed', recordedIn: 'pending', ...shown });
      expect(file.lines).toMatchObject([
        { study: CONFIGURATION.name, participantId: '001', randomizedAt: 1, reason: 'anaphylaxis, ICU' },
      ]);
      expect(JSON.stringify(file.lines)).not.toContain(arm);
      expect(hooks.onPending).toHaveBeenCalledOnce();
      refuse(undefined);
      expect(await codeBreaks.recordPending()).toMatchObject(NOTHING);
      expect(file.lines).toEqual([]);
      expect(study().revision).toBe(2);
    },
  );

  it('waits three seconds for a store that does not answer, and is recorded once although it lands late', async () => {
    const { codeBreaks, reveal, study, shown, file, store } = await scene();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    store.next('lands-late');
    const asked = reveal();
    await vi.advanceTimersByTimeAsync(3000);
    expect(await asked).toMatchObject({ recordedIn: 'pending', ...shown });
    await store.land();
    // The writer gives up waiting, sends the same record again, and learns that it is there.
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(await codeBreaks.recordPending()).toMatchObject(NOTHING);
    expect(study().revision).toBe(2);
    expect(file.lines).toEqual([]);
  });

  it('is shown even if nothing can be recorded anywhere, which is reported, and named when the process ends', async () => {
    const { codeBreaks, reveal, shown, file, hooks, refuse } = await scene();
    refuse('rolled-back');
    file.fails = NO_SPACE;
    expect(await reveal()).toMatchObject({ recordedIn: 'none', ...shown });
    const whom = { study: CONFIGURATION.name, participant: '001' };
    expect(hooks.onUnrecorded).toHaveBeenCalledExactlyOnceWith(file.fails, whom);
    expect(await codeBreaks.stop()).toEqual([whom]);
  });

  it('goes to the log although that has no room but for what is urgent, and no other category does', async () => {
    const { reveal, study, file, store } = await scene();
    store.always = 'full-but-for-urgent';
    expect(await reveal()).toMatchObject({ recordedIn: 'log' });
    await expect(reveal({ category: 'monitoring' })).rejects.toThrow('the disk is full');
    expect([file.lines, study().revision]).toEqual([[], 2]);
  });

  it('that could be recorded nowhere is remembered, and goes to the log as soon as that is possible', async () => {
    const { codeBreaks, reveal, study, file, store } = await scene();
    store.always = 'full';
    file.fails = NO_SPACE;
    await reveal();
    await reveal();
    expect(await codeBreaks.recordPending()).toMatchObject({ remembered: [], left: [] });
    store.always = 'none';
    const { remembered } = await codeBreaks.recordPending();
    expect(remembered).toMatchObject([{ participantId: '001' }, { participantId: '001' }]);
    expect(study().revision).toBe(3);
    expect(await codeBreaks.recordPending()).toMatchObject({ remembered: [] });
    expect(await codeBreaks.stop()).toEqual([]);
  });

  it('that could be recorded nowhere is not forgotten for another that came together with it', async () => {
    const { codeBreaks, reveal, shown, file, refuse } = await scene();
    refuse('rolled-back');
    file.fails = NO_SPACE;
    const reasons = ['the first', 'the second'];
    const together = reasons.map((reason) => reveal({ grounds: { reason } }, NURSE));
    expect(await Promise.all(together)).toMatchObject(
      [false, true].map((isRepeated) => ({ ...shown, recordedIn: 'none', isRepeated })),
    );
    file.fails = undefined;
    await codeBreaks.recordPending();
    expect(file.lines).toMatchObject([{ reason: 'the first' }]);
  });

  it('that could be recorded nowhere goes to the file if that is possible first', async () => {
    const { codeBreaks, reveal, study, file, refuse } = await scene();
    refuse('rolled-back');
    file.fails = NO_SPACE;
    await reveal();
    file.fails = undefined;
    expect(await codeBreaks.recordPending()).toMatchObject({ recorded: [], left: [{ isWaiting: true }] });
    expect(file.lines).toMatchObject([{ participantId: '001' }]);
    refuse(undefined);
    expect(await codeBreaks.recordPending()).toMatchObject({ left: [] });
    expect(study().revision).toBe(2);
  });

  it.each([
    ['to a key that is limited to others', { where: [{ factor: '10', levels: ['another'] }] }],
    ['of somebody unknown', { participantId: '009' }],
  ])('gives nothing %s, whatever the state of the log', async (_, more) => {
    const { reveal, file, refuse } = await scene();
    const nobody = { type: 'not-revealed', outcome: { type: 'no-such-participant' } };
    expect(await reveal(more)).toMatchObject(nobody);
    // Then nobody can know whether there is such a participant, so the answer is the same for both.
    refuse('moved');
    await expect(reveal(more)).rejects.toThrow('it is moved');
    expect(file.lines).toEqual([]);
  });
});

describe('on a full disk, an emergency', () => {
  /** Participants 001 to 020, and a disk with no room but the reserve's. */
  async function full() {
    const all = await scene();
    const ids = Array.from({ length: 20 }, (_, i) => String(i + 1).padStart(3, '0'));
    for (const id of ids.slice(1)) await all.studies.submit(all.study().stream, randomize(id), NURSE);
    all.store.always = 'full-but-for-urgent';
    const before = all.study().revision;
    const by = (keyId: string, user = keyId) => ({ ...NURSE, keyId, user });
    /** Where the code-breaks of these participants are recorded, and what is said of them. */
    const revealed = async (some: readonly string[], actor: Actor, more = {}) => {
      const results = [];
      for (const participantId of some) results.push(await all.reveal({ participantId, ...more }, actor));
      return results.map((one) => (one.type === 'revealed' ? one.recordedIn : one.type));
    };
    const reasons = async () => {
      const found: unknown[] = [];
      for await (const page of all.store.readStream(all.study().stream, before + 1))
        for (const stored of page)
          found.push((decodeRecord(stored).sections as typeof GROUNDS).grounds.reason);
      return found;
    };
    return { ...all, ids, by, revealed, reasons, recorded: () => all.study().revision - before };
  }
  const GROUNDS = { grounds: { reason: '' } };
  const LONG = { grounds: { reason: '🫀'.repeat(1000) } };

  it('gets eight appends of the reserve for each key in an hour; after that the arm is shown, and it waits for room', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { revealed, reveal, ids, by, recorded, file, codeBreaks } = await full();
    const [logged, waiting] = [Array(8).fill('log'), (n: number) => Array(n).fill('pending')];
    expect(await revealed(ids, by('k1'))).toEqual([...logged, ...waiting(12)]);
    expect(await reveal({ participantId: '020' }, by('k1'))).toMatchObject({
      isRepeated: true,
      isShareUsed: true,
    });
    expect(file.lines).toHaveLength(12);
    expect(await revealed(ids, by('k2'))).toEqual([...logged, ...waiting(12)]);
    // Another key of the same person, and a third.
    expect(await revealed(ids.slice(0, 9), by('k3', 'k2'))).toEqual([...logged, ...waiting(1)]);
    expect(await revealed(ids.slice(0, 2), by('k4', 'k2'))).toEqual(waiting(2));
    // What waits does not use the reserve.
    await codeBreaks.recordPending();
    expect(recorded()).toBe(24);
    vi.advanceTimersByTime(3_600_000);
    expect(await revealed(ids.slice(0, 1), by('k1'))).toEqual(['log']);
  });

  it('of the same participant by the same key within a minute is one code-break, also if they come together', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { reveal, by, recorded, shown, store, study } = await full();
    const together = await Promise.all([1, 2, 3].map(() => reveal({}, by('k1'))));
    const revision = study().revision;
    expect(together).toMatchObject(
      [false, true, true].map((isRepeated) => ({ ...shown, recordedIn: 'log', revision, isRepeated })),
    );
    expect(await reveal({ participantId: '002' }, by('k1'))).toMatchObject({ isRepeated: false });
    expect(await reveal({}, by('k2'))).toMatchObject({ isRepeated: false });
    vi.advanceTimersByTime(59_000);
    expect(await reveal({ idempotencyKey: 'late' }, by('k1'))).toMatchObject({ revision, isRepeated: true });
    vi.advanceTimersByTime(1000);
    expect(await reveal({}, by('k1'))).toMatchObject({ isRepeated: false });
    expect(recorded()).toBe(4);
    // Only on a full disk, and its key was not bound.
    store.always = 'none';
    expect(await reveal({ idempotencyKey: 'late' }, by('k1'))).toMatchObject({ isRepeated: false });
    expect(await reveal({}, by('k1'))).toMatchObject({ isRepeated: false, revision: study().revision });
  });

  it('that was refused, because its Idempotency-Key belongs to another, is not refused again with the next', async () => {
    const { reveal, by } = await full();
    const ask = (participantId: string, idempotencyKey: string) =>
      reveal({ participantId, idempotencyKey }, by('k1'));
    expect(await Promise.all(['001', '002'].map((id) => ask(id, 'night-1')))).toMatchObject([
      { type: 'revealed' },
      { outcome: { type: 'idempotency-key-reused' } },
    ]);
    expect(await ask('002', 'night-2')).toMatchObject({ recordedIn: 'log', isRepeated: false });
  });

  it('keeps 200 characters of a long reason, and says so; the same request is still the same', async () => {
    const { reveal, by, reasons, ids, revealed, file, store } = await full();
    const asked = { ...LONG, idempotencyKey: 'night-1' };
    expect(await reveal(asked, by('k1'))).toMatchObject({ isReasonCut: true, recordedIn: 'log' });
    expect(await reveal({ participantId: '002' }, by('k1'))).toMatchObject({ isReasonCut: false });
    await revealed(ids, by('k1'), LONG);
    const [reason, ...others] = (await reasons()) as string[];
    expect(reason).toMatch(/^🫀{181} … \(cut: disk full\)$/u);
    expect([...(reason ?? '')]).toHaveLength(200);
    expect(others[0]).toBe(ASKED.grounds.reason);
    expect(new Set(file.lines.map((line) => line.reason))).toEqual(new Set([reason]));
    store.always = 'none';
    expect(await reveal(asked, by('k1'))).toMatchObject({ recordedIn: 'log', isRepeated: true });
    const other = { grounds: { reason: 'another' }, idempotencyKey: 'night-1' };
    expect(await reveal(other, by('k1'))).toMatchObject({ outcome: { type: 'idempotency-key-reused' } });
    await reveal(LONG, by('k1'));
    expect((await reasons()).at(-1)).toBe(LONG.grounds.reason);
  });

  it('beyond the share of its key leaves room in the file to others, and the memory keeps one for each participant', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { reveal, revealed, ids, by, file, codeBreaks, hooks } = await full();
    file.room = 500 * 1024;
    const late = Array(12).fill('none');
    expect(await revealed(ids, by('k1'))).toEqual([...Array(8).fill('log'), ...late]);
    vi.advanceTimersByTime(60_000);
    expect(await revealed(ids.slice(8), by('k1'))).toEqual(late);
    expect(await reveal({ participantId: '020' }, by('k1'))).toMatchObject({ isRepeated: true });
    expect(hooks.onUnrecorded).toHaveBeenCalledTimes(12);
    file.room = 600 * 1024;
    await codeBreaks.recordPending();
    expect(file.lines).toHaveLength(12);
    expect(await codeBreaks.stop()).toEqual([]);
  });
});

it('a code-break of any other category is refused when the log cannot be written, and leaves nothing', async () => {
  const { reveal, file, refuse } = await scene();
  refuse('rolled-back');
  for (const category of ['monitoring', 'planned', 'safety-report', 'end', 'other'] as const)
    await expect(reveal({ category }), category).rejects.toThrow(DomainError);
  expect(file.lines).toEqual([]);
});

describe('what is pending', () => {
  const line = {
    ...{ study: CONFIGURATION.name, participantId: '001', randomizedAt: 1, category: 'emergency' as const },
    ...{ reason: 'anaphylaxis', reveal: 'a3b54be0-6f9c-4d0c-9d1c-0e3a0c3f4d11' },
    ...{ shownAt: '2026-03-01T09:00:00.000Z', actor: OPERATOR },
  };

  it.each([
    ['of a participant whose id belongs to somebody else now', { randomizedAt: 7 }],
    ['of nobody', { participantId: '009' }],
    ['of a study that is not in the log', { study: 'Another' }],
  ])('and %s stays pending, and the rest is recorded', async (_, wrong) => {
    const { codeBreaks, study, file } = await scene();
    const impossible = { ...line, ...wrong, reveal: '00000000-6f9c-4d0c-9d1c-0e3a0c3f4d11' };
    file.lines.push(impossible, line);
    const { left } = await codeBreaks.recordPending();
    expect(left).toMatchObject([{ reveal: impossible, isWaiting: false }]);
    expect(file.lines).toEqual([impossible]);
    expect(study().revision).toBe(2);
  });

  it('waits while its time is in the future, as after a clock that was ahead', async () => {
    const { codeBreaks, study, file } = await scene();
    const ahead = { ...line, shownAt: '2999-01-01T00:00:00.000Z' };
    file.lines.push(ahead);
    expect((await codeBreaks.recordPending()).left).toMatchObject([{ reveal: ahead, isWaiting: true }]);
    expect(study().revision).toBe(1);
  });

  it('is not dated before its participant was randomized, as by a clock that was behind', async () => {
    const { codeBreaks, study, file, store } = await scene();
    file.lines.push({ ...line, shownAt: '2026-03-01T08:00:00.000Z' });
    expect(await codeBreaks.recordPending()).toMatchObject(NOTHING);
    const times: unknown[] = [];
    for await (const page of store.readStream(study().stream, 1))
      for (const stored of page) {
        const { at, data } = decodeRecord(stored);
        times.push('shownAt' in data ? data.shownAt : at);
      }
    const [randomizedAt, shownAt] = times;
    expect(shownAt).toBe(randomizedAt);
  });

  it('by a key that the log lost stays pending', async () => {
    const { codeBreaks, study, file } = await scene();
    for (const actor of [
      { ...NURSE, keyId: 'k000000000000' },
      { ...NURSE, accessRevision: 99 },
    ]) {
      file.lines.splice(0, Infinity, { ...line, actor });
      expect((await codeBreaks.recordPending()).left).toMatchObject([{ why: 'this log has no such key' }]);
    }
    expect(study().revision).toBe(1);
  });

  it('is recorded without its Idempotency-Key if that belongs to another request by now', async () => {
    const { codeBreaks, reveal, study, file } = await scene();
    const key = { idempotencyKey: 'night-1' };
    await reveal({ ...key, category: 'other' });
    file.lines.push({ ...line, ...key });
    expect(await codeBreaks.recordPending()).toMatchObject(NOTHING);
    expect(study().revision).toBe(3);
  });

  it('of one study does not wait for another that cannot be written', async () => {
    const { codeBreaks, study, file, studies, refuse } = await scene();
    const other = { ...CONFIGURATION, name: 'Other' };
    await studies.register(other, SEED + 1n, OPERATOR);
    await studies.submit(studies.streamOf('Other'), randomize('001'), NURSE);
    refuse('halted', study().stream);
    const ofOther = { ...line, study: 'Other', reveal: '00000000-6f9c-4d0c-9d1c-0e3a0c3f4d12' };
    file.lines.push(line, ofOther);
    expect((await codeBreaks.recordPending()).left).toMatchObject([{ reveal: line, isWaiting: true }]);
    expect(file.lines).toEqual([line]);
  });
});
