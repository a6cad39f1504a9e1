import { afterEach, describe, expect, it, vi } from 'vitest';
import { participants } from '../../../projections/participants.ts';
import { Runner } from '../../../projections/runner.ts';
import { studyConfig } from '../../../projections/study-config.ts';
import { DomainError, type DomainErrorCode } from '../../../src/base/errors.ts';
import { CodeBreaks } from '../../../src/code-break/code-breaks.ts';
import type { PendingReveal, PendingReveals } from '../../../src/code-break/pending-reveals.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { studyState } from '../../../src/study/state.ts';
import { Studies } from '../../../src/study/studies.ts';
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
  const runner = new Runner(store, LOG_ID, [studyConfig, studyState, participants]);
  let refusal: DomainError | undefined;
  const gate = { refusal: () => refusal, danger: () => undefined };
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
  const arm = runner.state(participants, study().stream).byId.get('001')?.treatment;
  const refuse = (code: DomainErrorCode | undefined) => {
    refusal = code && new DomainError(code, `it is ${code}`);
  };
  return { store, codeBreaks, study, file, hooks, arm, refuse };
}

describe('a code-break in an emergency', () => {
  it('is in the log before the arm is given', async () => {
    const { codeBreaks, study, arm, file } = await scene();
    const revealed = await codeBreaks.reveal(study(), ASKED, NURSE);
    expect(revealed).toMatchObject({ type: 'revealed', recordedIn: 'log', revision: 2 });
    expect(revealed).toMatchObject({ participant: { treatment: arm } });
    expect(study().revision).toBe(2);
    expect(file.lines).toEqual([]);
  });

  it.each(['rolled-back', 'moved', 'halted', 'endangered', 'identity'] as const)(
    'goes to the file at once, and the arm to the physician, when the log is %s',
    async (code) => {
      const { codeBreaks, study, arm, file, hooks, refuse } = await scene();
      refuse(code);
      const revealed = await codeBreaks.reveal(study(), ASKED, NURSE);
      expect(revealed).toMatchObject({
        type: 'revealed',
        recordedIn: 'pending',
        participant: { treatment: arm },
      });
      expect(file.lines).toMatchObject([
        { study: CONFIGURATION.name, participantId: '001', randomizedAt: 1, reason: 'anaphylaxis, ICU' },
      ]);
      expect(JSON.stringify(file.lines)).not.toContain(arm);
      expect(hooks.onPending).toHaveBeenCalledOnce();
      refuse(undefined);
      expect(await codeBreaks.recordPending()).toEqual({ impossible: [], damaged: 0 });
      expect(file.lines).toEqual([]);
      expect(study().revision).toBe(2);
    },
  );

  it('waits three seconds for a store that does not answer, and is recorded once although it lands late', async () => {
    const { codeBreaks, study, arm, file, store } = await scene();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    store.next('lands-late');
    const asked = codeBreaks.reveal(study(), ASKED, NURSE);
    await vi.advanceTimersByTimeAsync(3000);
    expect(await asked).toMatchObject({ recordedIn: 'pending', participant: { treatment: arm } });
    await store.land();
    // The writer gives up waiting, sends the same record again, and learns that it is there.
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(await codeBreaks.recordPending()).toEqual({ impossible: [], damaged: 0 });
    expect(study().revision).toBe(2);
    expect(file.lines).toEqual([]);
  });

  it('is shown even if nothing can be recorded anywhere, which is reported', async () => {
    const { codeBreaks, study, arm, file, hooks, refuse } = await scene();
    refuse('rolled-back');
    file.fails = new Error('no space left on device');
    const revealed = await codeBreaks.reveal(study(), ASKED, NURSE);
    expect(revealed).toMatchObject({ recordedIn: 'none', participant: { treatment: arm } });
    const shown = { study: CONFIGURATION.name, participant: '001' };
    expect(hooks.onUnrecorded).toHaveBeenCalledExactlyOnceWith(file.fails, shown);
  });

  it('gives nothing to a key that is limited to others, whatever the state of the log', async () => {
    const { codeBreaks, study, file, refuse } = await scene();
    const where = [{ factor: CONFIGURATION.factors[0]?.name ?? '', levels: ['another'] }];
    const nobody = { type: 'not-revealed', outcome: { type: 'no-such-participant' } };
    expect(await codeBreaks.reveal(study(), { ...ASKED, where }, NURSE)).toMatchObject(nobody);
    refuse('moved');
    expect(await codeBreaks.reveal(study(), { ...ASKED, where }, NURSE)).toMatchObject(nobody);
    expect(file.lines).toEqual([]);
  });

  it('of somebody unknown gives nothing', async () => {
    const { codeBreaks, study, file, refuse } = await scene();
    const unknown = { ...ASKED, participantId: '009' };
    expect(await codeBreaks.reveal(study(), unknown, NURSE)).toMatchObject({ type: 'not-revealed' });
    refuse('rolled-back');
    await expect(codeBreaks.reveal(study(), unknown, NURSE)).rejects.toThrow('it is rolled-back');
    expect(file.lines).toEqual([]);
  });
});

describe('a code-break of another category', () => {
  it.each(['monitoring', 'planned', 'safety-report', 'end', 'other'] as const)(
    '%s is refused when the log cannot be written, and leaves nothing behind',
    async (category) => {
      const { codeBreaks, study, file, refuse } = await scene();
      refuse('rolled-back');
      await expect(codeBreaks.reveal(study(), { ...ASKED, category }, NURSE)).rejects.toThrow(DomainError);
      expect(file.lines).toEqual([]);
    },
  );
});

describe('what is pending', () => {
  const line = {
    ...{ study: CONFIGURATION.name, participantId: '001', randomizedAt: 1, category: 'emergency' as const },
    ...{ reason: 'anaphylaxis', reveal: 'a3b54be0-6f9c-4d0c-9d1c-0e3a0c3f4d11' },
    ...{ shownAt: '2026-03-01T09:00:00.000Z', actor: NURSE },
  };

  it.each([
    ['of a participant whose id belongs to somebody else now', { randomizedAt: 7 }],
    ['of nobody', { participantId: '009' }],
    ['of a study that is not in the log', { study: 'Another' }],
  ])('and %s stays pending, and the rest is recorded', async (_, wrong) => {
    const { codeBreaks, study, file } = await scene();
    const impossible = { ...line, ...wrong, reveal: '00000000-6f9c-4d0c-9d1c-0e3a0c3f4d11' };
    file.lines.push(impossible, line);
    expect(await codeBreaks.recordPending()).toEqual({ impossible: [impossible], damaged: 0 });
    expect(file.lines).toEqual([impossible]);
    expect(study().revision).toBe(2);
  });

  it('is recorded once, however often it is tried', async () => {
    const { codeBreaks, study, file } = await scene();
    for (let i = 0; i < 3; i++) {
      file.lines.push(line);
      await codeBreaks.recordPending();
    }
    expect(study().revision).toBe(2);
    expect(file.lines).toEqual([]);
  });
});
