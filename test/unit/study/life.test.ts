/** What can happen in a study besides allocations, and is not in the table of acts (test/unit/acts/acts.test.ts). */
import { describe, expect, it } from 'vitest';
import { changedDesign, type Design, registeredDesign } from '../../../src/core/model/design.ts';
import { isWithin } from '../../../src/core/model/key-limits.ts';
import { goalOf } from '../../../src/core/model/limits.ts';
import { approvalProblems } from '../../../src/core/model/members.ts';
import { STATUSES, type Status } from '../../../src/core/model/outcomes.ts';
import type { FlatAct, Written } from '../../support/acts.ts';
import { ASKED, CONFIGURATION, LEVELS, REGISTER, randomize, SEED } from '../../support/facts.ts';
import { renamedLevel } from '../../support/life.ts';
import { importingTrial, TrialRun } from '../../support/trial-run.ts';

const APPROVAL = { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-09-01' };
const ANOTHER = '7b0e6a52-4f1d-4b92-8f5e-1c2d3e4f5a6b';
const PAUSE = { act: 'StudyPaused', reason: 'data review' } as const;
const CLOSE = { act: 'StudyClosed', cause: 'target', reason: '300 randomized' } as const;
const REOPEN = { act: 'StudyReopened', reason: 'target raised', approvals: [APPROVAL] } as const;
const REVEAL: FlatAct = {
  ...{ act: 'AllocationRevealed', participantId: 'a', category: 'emergency', reason: 'anaphylaxis, ICU' },
  reveal: '2f6d1f0e-8c1b-4a57-9d4e-0d1f7b6a5c3e',
};
const REPORT: FlatAct = {
  ...{ act: 'UnblindingReported', participantId: 'a', how: 'envelope', reason: 'anaphylaxis, ICU' },
  occurredAt: '2026-03-01T08:00:00.000Z',
};
const RECOVER = { type: 'recover', recovery: 1, kept: 2, seed: SEED } as const;

/** With one participant, `a`. */
function begun(...more: Written[]): TrialRun {
  const trial = new TrialRun();
  trial.enrol('a');
  for (const command of more) expect(trial.ask(command)).toMatchObject({ type: 'recorded' });
  return trial;
}

const IN: Readonly<Record<Status, () => TrialRun>> = {
  ...{ open: () => begun(), paused: () => begun(PAUSE), closed: () => begun(PAUSE, CLOSE) },
  importing: () => importingTrial(),
};

describe('a command', () => {
  it.each(STATUSES)('in a study that is %s enrols only in an open one; all else is answered', (status) => {
    const ask = (command: Written) => IN[status]().ask(command);
    const randomized = { type: 'randomized', participantId: 'b' };
    const refused = { type: 'refused', because: status };
    expect(ask(randomize('b'))).toEqual(status === 'open' ? randomized : refused);
    expect(ask(randomize('a'))).toEqual({ type: 'duplicate', participantId: 'a', differingFactors: [] });
    expect(ask(REGISTER)).toEqual({ type: 'already-registered' });
    expect(ask(RECOVER)).toEqual({ type: 'recovered' });
  });

  it('is refused before the study is registered', () => {
    const trial = new TrialRun();
    trial.state = { status: 'unregistered' };
    for (const command of [RECOVER, randomize('a')])
      expect(trial.ask(command)).toEqual({ type: 'not-registered' });
  });
});

describe('a code-break', () => {
  it('is recorded each time somebody asks for the arm, once for each time, and names no arm', () => {
    const trial = begun(REVEAL, { ...REVEAL, reveal: ANOTHER });
    expect(JSON.stringify(trial.facts.at(-1))).not.toContain(trial.list.find('a')?.treatment);
    const doctors = { ...REVEAL, user: 'doctor', category: 'other' };
    expect(trial.ask(doctors)).toEqual({ type: 'already-recorded', revision: 2 });
  });

  it('can be reported as a mistake, only for the participant whose code was broken', () => {
    const trial = begun(REVEAL);
    trial.enrol('b');
    for (const about of [{ revealedAt: 1 }, { revealedAt: 3 }, { participantId: 'b', revealedAt: 2 }])
      expect(trial.ask({ ...REPORT, ...about })).toEqual({
        ...{ type: 'impossible', field: 'revealedAt' },
        why: 'no code of this participant was broken at this revision',
      });
    expect(trial.ask({ ...REPORT, inadvertent: true, revealedAt: 2 })).toMatchObject({ type: 'recorded' });
    expect(trial.last('UnblindingReported')).toMatchObject({ inadvertent: true, revealedAt: 2 });
  });
});

const MEN_OR_WOMEN = { factor: '10', levels: ['Male', 'Female'] };
it.each<[string, boolean, Parameters<typeof isWithin>[0]]>([
  ['none', true, undefined],
  ['an empty list', true, []],
  ['all levels of a factor', true, [MEN_OR_WOMEN]],
  ['another level', false, [{ factor: '10', levels: ['Male'] }]],
  ['one of two', false, [MEN_OR_WOMEN, { factor: '9', levels: ['elsewhere'] }]],
  ['the levels in a factor that the study does not have', false, [{ factor: 'none', levels: LEVELS }]],
  ['a level of another factor', false, [{ factor: '9', levels: [LEVELS[0] ?? ''] }]],
])('the limits of a key that are %s are met by the participant: %s', (_, expected, where) => {
  expect(isWithin(where, registeredDesign(CONFIGURATION), LEVELS)).toBe(expected);
});

describe('an approval', () => {
  const problems = (on: string, at = ASKED.at) => approvalProblems([APPROVAL, { ...APPROVAL, on }], at);

  it('is needed only to reopen a live study', () => {
    const unapproved = { ...REOPEN, approvals: [] };
    expect(begun(CLOSE).ask(unapproved)).toEqual({
      ...{ type: 'impossible', field: 'approvals' },
      why: 'a live study can be reopened only with an approval',
    });
    const test = new TrialRun({ mode: 'test' });
    test.ask(CLOSE);
    expect(test.ask(unapproved)).toMatchObject({ type: 'recorded' });
    expect(test.last('StudyReopened').approvals).toEqual([]);
  });

  it.each([
    [[], ['2028-02-29', '2000-02-29', '0000-02-29', '9999-12-31']],
    [
      ['it is not a day of the calendar'],
      ['2027-02-29', '2100-02-29', '2027-04-31', '2027-13-01', '2027-12-00'],
    ],
  ])('is refused with %j if it is dated %j', (why, days) => {
    const expected = why.map((one) => ({ field: 'approvals[1].on', why: one }));
    for (const day of days) expect(problems(day), day).toEqual(expected);
  });

  // In Kiritimati it is the next day from 10:00 UTC on.
  it.each([
    ['2026-11-25T09:59:59.999Z', '2026-11-25', '2026-11-26'],
    ['2026-12-31T10:00:00.000Z', '2027-01-01', '2027-01-02'],
  ])('at %s is of %s at the latest', (at, last, next) => {
    expect(problems(last, at)).toEqual([]);
    expect(problems(next, at)).toEqual([{ field: 'approvals[1].on', why: `${next} is in the future` }]);
  });

  it('is judged in each request that has one, but not again when the request is repeated', () => {
    const amend: Written = {
      ...{ type: 'amend', user: 'nurse', amendment: 1, reason: 'more', approvals: [APPROVAL] },
      changes: [{ kind: 'target', value: 9 }],
    };
    for (const [trial, command] of [
      [begun(), CLOSE],
      [begun(CLOSE), REOPEN],
      [begun(), amend],
    ] as const) {
      const early = { ...ASKED, at: '2026-08-30T09:00:00Z' };
      const asked = { ...command, approvals: [APPROVAL], idempotencyKey: 'k' };
      const refused = trial.ask(asked, early);
      expect(refused.type === 'not-amendable' ? refused.problems[0] : refused).toMatchObject({
        ...{ field: 'approvals[0].on', why: '2026-09-01 is in the future' },
      });
      const undated = { ...asked, approvals: [{ ...APPROVAL, on: '2026-13-01' }] };
      expect(JSON.stringify(trial.ask(undated, early))).toContain('it is not a day of the calendar');
      const { type } = trial.ask(asked, { ...early, at: '2026-08-31T10:00:00Z' });
      expect(type).toMatch(/^(recorded|amended)$/);
      expect(trial.ask(asked, early)).toMatchObject({ type: 'done-before' });
    }
  });

  it('goes with a protocol that is dated with a day, too', () => {
    const protocol = { version: '3', date: '2027-04-31' };
    expect(begun(CLOSE).ask({ ...REOPEN, protocol })).toEqual({
      ...{ type: 'impossible', field: 'protocol.date', why: 'it is not a day of the calendar' },
    });
  });
});

it('a recovery keeps state, code-breaks and enrolments', () => {
  const trial = begun(REVEAL, CLOSE);
  expect(trial.ask(RECOVER)).toEqual({ type: 'recovered' });
  expect(trial.ask(RECOVER)).toEqual({ type: 'already-recovered' });
  expect(trial.ask(randomize('b'))).toEqual({ type: 'refused', because: 'closed' });
  expect(trial.ask(REVEAL)).toEqual({ type: 'already-recorded', revision: 2 });
  expect(trial.ask(REPORT)).toMatchObject({ type: 'recorded', participantId: 'a' });
});

const [COOK = '', DUPAGE = '', KANE = ''] = CONFIGURATION.factors[1]?.levels ?? [];
const SITE = CONFIGURATION.factors[1]?.name ?? '';
const SEX = CONFIGURATION.factors[0]?.name ?? '';
const LIMITS = {
  total: 30,
  levels: [
    { factor: SITE, level: COOK, max: 20 },
    { factor: SITE, level: DUPAGE, max: 15 },
    { factor: SEX, level: 'Male', max: 12 },
  ],
};
const design = (more: Partial<Design> = {}): Design => ({ ...registeredDesign(CONFIGURATION), ...more });
const at = (...levels: string[]) => [{ factor: SITE, levels }];

describe('goalOf', () => {
  it('is the target of the study, or else its limit', () => {
    expect(goalOf(design({ target: 25, limits: LIMITS }), undefined)).toEqual({ kind: 'target', places: 25 });
    expect(goalOf(design({ target: undefined, limits: LIMITS }), undefined)).toEqual({
      kind: 'limit',
      places: 30,
    });
    expect(goalOf(design({ target: undefined, limits: undefined }), undefined)).toBeUndefined();
  });

  it('is never that of the whole study for a key that is limited to some of its levels', () => {
    const all = design({ target: 25, limits: LIMITS });
    expect(goalOf(all, at(COOK))).toEqual({ kind: 'limit', places: 20 });
    expect(goalOf(all, at(COOK, DUPAGE))).toEqual({ kind: 'limit', places: 35 });
    expect(goalOf(all, at(COOK, COOK))).toEqual({ kind: 'limit', places: 20 });
    // One of the levels has no limit, or nobody has said how many men there may be at a site.
    expect(goalOf(all, at(COOK, KANE))).toBeUndefined();
    expect(goalOf(all, at(KANE))).toBeUndefined();
    expect(goalOf(all, [...at(COOK), { factor: SEX, levels: ['Male'] }])).toBeUndefined();
    expect(goalOf(design({ target: 25, limits: { total: 30 } }), at(COOK))).toBeUndefined();
  });

  it('knows the levels of a key by the names that they had when it was issued', () => {
    const renamed = changedDesign(design({ limits: LIMITS }), renamedLevel(SITE, COOK, 'Cook'));
    expect(goalOf(renamed, at(COOK))).toEqual({ kind: 'limit', places: 20 });
  });
});
