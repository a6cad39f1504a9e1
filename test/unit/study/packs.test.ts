/** Packs of medication: which one a participant gets, and what a caller cannot find out by asking. */
import { describe, expect, it } from 'vitest';
import type { Members } from '../../../src/core/model/outcomes.ts';
import type { RegisterPacks } from '../../../src/core/study/commands.ts';
import { type FlatAct, tryWritten } from '../../support/acts.ts';
import { COOK, closed, DUPAGE, force, MART, RMCA, RMCQ } from '../../support/arbitrary-life.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { listOf, reinstated, replace, voided } from '../../support/visits.ts';

const ARMS = [MART, RMCQ, RMCA];

/** So many packs of every treatment. */
const every = (number: number) => ({ [MART]: number, [RMCQ]: number, [RMCA]: number });

const OF_COOK = { where: { factor: '9', level: COOK } };

function stocked(number: number, more: Partial<RegisterPacks> = {}): TrialRun {
  const trial = new TrialRun();
  expect(trial.ask({ ...listOf(1, every(number)), ...more })).toEqual({ type: 'codes-registered' });
  return trial;
}

function withdraw(codes: readonly string[], more: Members = {}): FlatAct {
  return { act: 'CodesWithdrawn', codes, reason: 'recalled', ...more };
}

function reveal(more: Members): FlatAct {
  return {
    ...{ act: 'AllocationRevealed', category: 'emergency', reason: 'a child ate it' },
    ...{ reveal: '6d2f1c3a-8b4e-4f5a-9c6d-7e8f9a0b1c2d', ...more },
  };
}

const packOf = (trial: TrialRun, id: string) => trial.list.find(id)?.pack?.code ?? '';

describe('a participant in a study with packs', () => {
  it.each(ARMS)('is refused before any draw if %s has no pack left', (lacking) => {
    const trial = new TrialRun();
    trial.ask(listOf(1, { ...every(3), [lacking]: 0 }));
    const before = trial.bgState;
    expect(trial.enrol('a')).toEqual({ type: 'no-code' });
    expect(trial.bgState).toEqual(before);
    trial.ask(listOf(2, { [lacking]: 1 }));
    expect(trial.enrol('a')).toMatchObject({ type: 'randomized' });
  });

  it('does not need a pack of a closed arm to be left', () => {
    const trial = new TrialRun();
    trial.ask(listOf(1, { [MART]: 2, [RMCQ]: 2 }));
    expect(trial.enrol('a')).toEqual({ type: 'no-code' });
    trial.amend(closed(RMCA));
    expect(trial.enrol('a')).toMatchObject({ type: 'randomized' });
  });

  it('has no pack if randomized before the first list', () => {
    const trial = new TrialRun();
    trial.enrol('a');
    trial.ask(listOf(1, every(2)));
    trial.enrol('b');
    expect([packOf(trial, 'a'), packOf(trial, 'b')]).toEqual(['', expect.stringMatching(/^1-/)]);
    const why = 'the participant has no pack';
    expect(trial.ask(replace('a', '1-0-0'))).toEqual({ type: 'stale', field: 'code', why });
  });
});

const next = listOf(2, every(1));
const { entries } = next;
const one = (code: string, treatment: string) => ({ ...next, entries: [{ code, treatment }] });
const listOfLevel = (factor: string, level: string) => ({ ...next, where: { factor, level } });
it.each<[string, string, RegisterPacks]>([
  ['list', 'the next list is number 2', { ...next, list: 3 }],
  ['entries', 'the code 1-0-0 is registered already', { ...listOf(1, every(1)), list: 2 }],
  ['entries', 'the code 2-0-0 is registered already', { ...next, entries: [...entries, ...entries] }],
  ['entries', 'X: placebo is no arm of the study', one('X', 'placebo')],
  ['entries', 'the code mart is, or contains, the name of an arm', one('mart', RMCQ)],
  ['entries', 'the code x-mart-1 is, or contains, the name of an arm', one('x-mart-1', RMCQ)],
  ['where.level', 'the factor has no such level', listOfLevel('9', 'Will')],
  ['where.factor', 'the study has no such factor', listOfLevel('age', COOK)],
  ['count', 'a list has at most 4000 codes', listOf(2, every(1400))],
])('a list of packs is refused for its %s: %s', (field, why, command) => {
  const trial = stocked(1);
  const type = field === 'list' ? 'stale' : 'impossible';
  expect(trial.ask(command)).toEqual({ type, field, why });
  expect(trial.ask(next)).toEqual({ type: 'codes-registered' });
});

it('a list of packs takes 200000 bytes, and not one more', () => {
  const around = JSON.stringify([{ code: '', treatment: MART }]).length;
  const of = (bytes: number) => ({ ...one('Q'.repeat(bytes - around), MART), list: 1 });
  const trial = new TrialRun();
  const why = 'a list takes at most 200000 bytes';
  expect(trial.ask(of(200_001))).toEqual({ type: 'impossible', field: 'count', why });
  expect(trial.ask(of(200_000))).toEqual({ type: 'codes-registered' });
});

describe('a replaced pack', () => {
  it.each(ARMS)('does not show a site that %s is short of packs: every arm must have three', (short) => {
    const trial = stocked(4);
    trial.enrol('a');
    const ofArm = listOf(1, every(4))
      .entries.filter(({ treatment, code }) => treatment === short && code !== packOf(trial, 'a'))
      .map(({ code }) => code);
    // The arm of the participant has three left, the others have four. A closed arm needs them, too.
    if (ofArm.length > 3) trial.record(withdraw(ofArm.slice(3)));
    trial.amend(closed(short));
    const command = replace('a', packOf(trial, 'a'));
    expect(tryWritten(trial.state, command)).toMatchObject({ type: 'recorded' });
    trial.record(withdraw(ofArm.slice(0, 1)));
    for (const outcome of [tryWritten(trial.state, command), trial.ask(command)])
      expect(outcome).toEqual({ type: 'no-code' });
    trial.record({ ...command, isSupply: true });
  });

  it('is not replaced for somebody who is no patient', () => {
    const trial = stocked(9);
    trial.enrol('a');
    const command = replace('a', packOf(trial, 'a'));
    trial.record(voided('a', 'duplicate'));
    expect(tryWritten(trial.state, command)).toMatchObject({ type: 'stale' });
    const why = (cause: string) => `the participant is voided${cause} and gets no packs`;
    expect(trial.ask(command)).toMatchObject({ why: why('') });
    expect(trial.ask({ ...command, mayRead: true, isSupply: true })).toMatchObject({
      why: why(' (duplicate)'),
    });
    trial.record(reinstated('a'));
    trial.record(voided('a', 'ineligible'));
    trial.record(command);
  });
});

it('withdrawn packs are never given, and must be free and within the limits of the key', () => {
  const trial = stocked(2, OF_COOK);
  trial.enrol('a', ['Male', COOK]);
  const own = packOf(trial, 'a');
  const free = own === '1-0-0' ? '1-0-1' : '1-0-0';
  const within = (level: string) => ({ where: [{ factor: '9', levels: [level] }] });
  for (const [command, why] of [
    [withdraw([own]), `no free pack has the code ${own}`],
    [withdraw([free, 'unknown']), 'no free pack has the code unknown'],
    [withdraw([free, own, free]), `the list names a code more than once: ${free}`],
    [withdraw([free], within(DUPAGE)), `no free pack has the code ${free}`],
  ] as const)
    expect(trial.ask(command)).toEqual({ type: 'impossible', field: 'codes', why });
  expect(trial.record(withdraw([free], within(COOK)))).toEqual({ count: 1 });
});

describe('a pack that was given outside the service', () => {
  const NO_PACK = { type: 'impossible', field: 'code', why: 'no free pack of this arm has this code' };

  it('is named, or said to be none, in a study with packs: silence is refused', () => {
    const trial = stocked(3);
    const silent = force('x', { idempotencyKey: 'k' });
    for (const outcome of [tryWritten(trial.state, silent), trial.ask(silent)])
      expect(outcome).toEqual({
        ...{ type: 'impossible', field: 'code' },
        why: 'the study has packs: say which one the participant was given, or that it was none (null, or --no-code)',
      });
    trial.record({ ...silent, code: null });
    expect(trial.last('AllocationForced')).not.toHaveProperty('code');
    // A request from before this was asked, sent again.
    expect(trial.ask(silent)).toMatchObject({ type: 'done-before', revision: 2 });
    new TrialRun().record(force('x'));
    expect(new TrialRun().ask(force('x', { code: '1-1-0' }))).toEqual(NO_PACK);
  });

  it('must be free and of the arm, and a refusal does not say which it is not', () => {
    const trial = stocked(3);
    trial.enrol('a');
    for (const code of [packOf(trial, 'a'), '1-0-0', 'unknown'])
      expect(trial.ask(force('x', { code }))).toEqual(NO_PACK);
    // Nor does a dry run show which.
    const dry = (code: string) => tryWritten(trial.state, force('x', { code })).type;
    const free = ['1-0-0', '1-1-0', '1-2-0'].filter((code) => code !== packOf(trial, 'a'));
    expect(free.map(dry)).toEqual(free.map(() => 'recorded'));
    const right = free.find((code) => code.startsWith('1-1')) ?? '1-1-1';
    trial.record(force('x', { code: right }));
    expect(packOf(trial, 'x')).toBe(right);
  });

  it('can be used again by the entry that replaces a wrong one, and otherwise stays used', () => {
    const trial = stocked(3);
    trial.record(force('x', { code: '1-1-0' }));
    trial.record(voided('x', 'entry'));
    trial.record(force('x', { code: '1-1-0', replaces: 2 }));
    trial.record(voided('x', 'entry'));
    trial.record(force('x', { treatment: RMCA, code: '1-2-0', replaces: 4 }));
    expect(trial.ask(force('y', { code: '1-1-0' }))).toEqual(NO_PACK);
    expect(trial.ask(reveal({ code: '1-1-0' }))).toEqual({ type: 'recorded', moves: false });
  });
});

describe('a code-break by pack', () => {
  it('is about the participant who has the pack, or only about the pack if nobody has it', () => {
    const trial = stocked(4);
    trial.enrol('a');
    const code = packOf(trial, 'a');
    trial.record(replace('a', code));
    expect(trial.record(reveal({ code }))).toMatchObject({ code, participantId: 'a', randomizedAt: 2 });
    const held = [code, packOf(trial, 'a')];
    const free = listOf(1, every(4)).entries.find((one) => !held.includes(one.code))?.code ?? '';
    const id = '7d2f1c3a-8b4e-4f5a-9c6d-7e8f9a0b1c2d';
    const alone = reveal({ code: free, reveal: id, idempotencyKey: 'k' });
    expect(trial.ask(alone)).toEqual({ type: 'recorded', moves: false });
    expect(trial.last('AllocationRevealed')).not.toHaveProperty('participantId');
    expect(trial.ask(alone)).toMatchObject({ type: 'done-before', revision: 5 });
    expect(trial.ask({ ...alone, idempotencyKey: 'l' })).toEqual({ type: 'already-recorded', revision: 5 });
    for (const nobody of [reveal({ code: 'unknown' }), reveal({ participantId: 'z' }), reveal({})])
      expect(trial.ask({ ...nobody, reveal: 'new' })).toEqual({ type: 'no-such-participant' });
  });

  it('respects the limits of the key', () => {
    const trial = stocked(2, OF_COOK);
    trial.enrol('a', ['Male', COOK]);
    const own = packOf(trial, 'a');
    const free = own === '1-0-0' ? '1-0-1' : '1-0-0';
    const limited = (level: string, code: string) =>
      trial.ask(reveal({ code, where: [{ factor: '9', levels: [level] }] }));
    for (const code of [free, own]) expect(limited(DUPAGE, code)).toEqual({ type: 'no-such-participant' });
    expect(limited(COOK, free)).toEqual({ type: 'recorded', moves: false });
  });
});
