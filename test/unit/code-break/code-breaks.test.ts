import { afterEach, describe, expect, it, vi } from 'vitest';
import { decodeRecord } from '../../../events/record.ts';
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
  async add(reveal: PendingReveal) {
    if (this.fails) throw this.fails;
    this.lines.push(reveal);
  }
  async list() {
    return { reveals: [...this.lines], damaged: 0 };
  }
  async remove(recorded: ReadonlySet<string>) {
    this.lines.splice(0, Infinity, ...this.lines.filter(({ reveal }) => !recorded.has(reveal)));
  }
}

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
  const reveal = (more: Partial<Parameters<CodeBreaks['reveal']>[1]> = {}) =>
    codeBreaks.reveal(study(), { ...ASKED, ...more }, OPERATOR);
  const shown = { subject: { participant: { treatment: arm } } };
  return { store, codeBreaks, reveal, study, studies, file, hooks, arm, shown, refuse };
}

const NO_SPACE = new Error('no space left on device');
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
