/**
 * Amendments of a design: which are refused, and who is refused by what they change. What becomes of counts, lists and names:
 * test/vectors/life-histories.json.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DesignChange, StudyConfiguration } from '../../../events/study.ts';
import { Counts } from '../../../src/core/methods/memory.ts';
import { type Design, declaredVisit, registeredDesign } from '../../../src/core/model/design.ts';
import { isWithin } from '../../../src/core/model/key-limits.ts';
import { countedLevels, currentLevels } from '../../../src/core/model/participants.ts';
import {
  amendmentOf,
  amendmentProblem,
  defaultHistory,
  newNameProblems,
} from '../../../src/core/study/amendments.ts';
import type { Amend, RegisterPacks } from '../../../src/core/study/commands.ts';
import { methodInForce } from '../../../src/core/study/public-design.ts';
import type { FlatAct, Written } from '../../support/acts.ts';
import {
  added,
  amend,
  COOK,
  closed,
  DUPAGE,
  force,
  type LifeStep,
  lifeStep,
  MART,
  RMCA,
  ratio,
  reopened,
  retired,
  SITES,
} from '../../support/arbitrary-life.ts';
import { ASKED, CONFIGURATION, LEVELS, randomize } from '../../support/facts.ts';
import { arm, renamedLevel, site, visits } from '../../support/life.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { listOf } from '../../support/visits.ts';

const MCLEAN = '50-Mclean County';

const renamed = (from: string, to: string, more = {}) => renamedLevel('9', from, to, more);
const { stopped } = arm;
const limited = (...levels: string[]): DesignChange => ({
  kind: 'limits',
  value: { levels: levels.map((one) => ({ factor: '9', level: one, max: 3 })) },
});

function begun(more = {}): TrialRun {
  const trial = new TrialRun(more);
  trial.enrol('a');
  trial.enrol('b', ['Male', COOK]);
  return trial;
}

const corrects = (participantId: string, factor: string, from: string, to: string): FlatAct => ({
  ...{ act: 'LevelsCorrected', participantId, cause: 'entry', note: 'slip' },
  changes: [{ factor, from, to }],
});

/** Each change is judged by the design that the changes before it make. */
describe('an amendment is refused for', () => {
  const design = registeredDesign({ ...CONFIGURATION, visits: ['V2', 'Week 12'] });
  const toDuPage = renamed(DUPAGE, 'DuPage');
  const keep = { history: 'keep' } as const;
  const FORMER = 'a level had this name, and records still have it';
  const BACK: DesignChange = { kind: 'id-pattern', value: '(a+)+\\1' };
  const NO_DAY = { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-02-29' };

  it.each<[field: string, why: string, changes: readonly DesignChange[], more?: Partial<Amend>]>([
    ['[0].level', 'a level has this name', [site.added(COOK)]],
    ['[1].level', 'a closed level has this name (hint: reopen it)', [site.closed(COOK), site.added(COOK)]],
    ['[1].level', FORMER, [toDuPage, site.added(DUPAGE)]],
    ['[1].to', FORMER, [toDuPage, renamed(COOK, DUPAGE)]],
    ['[1].to', 'a level has this name', [toDuPage, renamed(COOK, 'DuPage')]],
    ['[0].to', 'it has this name already', [renamed(COOK, COOK)]],
    ['[1].level', 'it is called "DuPage" now', [toDuPage, site.closed(DUPAGE)]],
    ['[0].level', 'the factor has no such level', [site.closed('Nowhere')]],
    ['[1].level', 'it is closed already', [site.closed(COOK), site.closed(COOK)]],
    ['[0].level', 'it is not closed', [site.reopened(COOK)]],
    ['[1].level', 'no level of the factor would be open', [site.closed(COOK), site.closed(DUPAGE)]],
    ['[0].factor', 'the study has no such factor', [{ kind: 'level-added', factor: 'age', level: 'old' }]],
    ['[0].factor', 'the study has no such factor', [retired('age')]],
    ['[1].factor', 'it is the last factor', [retired('9'), retired('10')]],
    ['[1].factor', 'the factor is retired', [retired('9'), retired('9')]],
    ['[1].factor', 'the factor is retired', [retired('9'), site.closed(COOK)]],
    ['[1].treatment', 'fewer than two arms would be open', [closed(MART), closed(RMCA)]],
    ['[1].treatment', 'it is closed already', [closed(RMCA), closed(RMCA)]],
    ['[0].treatment', 'it is not closed', [stopped(RMCA)]],
    ['[0].treatment', 'the study has no such treatment', [closed('D')]],
    ['[2].treatment', 'it is stopped already', [closed(RMCA), stopped(RMCA), stopped(RMCA)]],
    ['[0].treatment', 'an arm has this name', [added(MART)]],
    ['[1].treatment', 'a closed arm has this name (hint: reopen it)', [closed(RMCA), added(RMCA)]],
    ['[0].treatment', 'the visit "V2" is, or contains, this name', [added('v2')]],
    ['[0].treatment', 'the visit "Week 12" is, or contains, this name', [added('WEEK')]],
    ['[0].value', 'it has 2 numbers for 3 treatments', [ratio(2, 1)]],
    ['[0].value', 'all its numbers can be divided by 2', [ratio(2, 2, 4)]],
    ['[0].value', 'there would be 41 slots (there can be 40)', [ratio(20, 20, 1)]],
    ['[0].kind', 'it is so already', [ratio(1, 1, 1)]],
    ['[1].ratio', 'there would be 41 slots (there can be 40)', [ratio(20, 17, 1), added('D', { ratio: 3 })]],
    ['[0].kind', 'it says nothing of w, alpha, beta and D', [{ kind: 'urn' }]],
    ['[0].w', 'it is so already', [{ kind: 'urn', w: 1, beta: 2 }]],
    ['[0].kind', 'it is so already', [{ kind: 'limits' }]],
    ['[0].value', 'without a limit it is left out', [{ kind: 'limits', value: {} }]],
    ['[0].value.levels[0]', 'the study has no such level', [limited('Nowhere')]],
    ['[0].value.levels[1]', 'it stands twice, or not in the order of the design', [limited(COOK, COOK)]],
    ['[0].value.levels[1]', 'it stands twice, or not in the order of the design', [limited(DUPAGE, COOK)]],
    ['[0].value', expect.stringContaining('the pattern has a \\1 (hint: a backslash can only'), [BACK]],
    ['[0].kind', 'it is so already', [{ kind: 'target' }]],
    ['[0].kind', 'it is so already', [{ kind: 'policy', name: 'voidCounts', value: 'kept' }]],
    ['[0].kind', 'it is so already', [{ kind: 'blinding', value: 'open' }]],
    ['[0].kind', 'it is so already', [visits('V2', 'Week 12')]],
    [
      '[0].value[2]',
      '"v2" is the same as visit 1 (capital letters do not matter)',
      [visits('V2', 'V4', 'v2')],
    ],
    ['[0].value[1]', '"mart" is, or contains, the name of an arm', [visits('V2', 'mart')]],
    ['[1].value[0]', '"RMC-A" is, or contains, the name of an arm', [closed(RMCA), visits(RMCA)]],
    ['[1].value[0]', '"Daily 12" is, or contains, the name of an arm', [added('Daily'), visits('Daily 12')]],
    ['history', 'no change touches the urns (hint: leave it out)', [{ kind: 'target', value: 9 }], keep],
    ['history', 'no change touches the urns (hint: leave it out)', [visits('V2')], { history: 'restart' }],
    ['history', 'a new ratio makes new slots, so the urns must restart', [ratio(2, 1, 1)], keep],
    ['changes', 'there is nothing to change, and no protocol', []],
    ['approvals', 'a live study can be amended only with an approval', [site.added('x')], { approvals: [] }],
    ['approvals[0].on', 'it is not a day of the calendar', [site.added('x')], { approvals: [NO_DAY] }],
    ['protocol.date', 'it is not a day of the calendar', [], { protocol: { version: '3', date: NO_DAY.on } }],
  ])('%s: %s', (field, why, changes, more) => {
    const problem = { field: field.replace(/^\[/, 'changes['), why };
    expect(amendmentProblem(design, amendmentOf(amend(changes, 1, more), design), ASKED.at)).toEqual({
      type: 'not-amendable',
      problems: [problem],
    });
  });

  const DRAWN = 'what is drawn from';
  const OWN_RATIO = 'a list holds its own ratio';
  it.each<[method: string, history: 'keep' | undefined, change: DesignChange, field: string, why: string]>([
    ['blocks', 'keep', closed(RMCA), 'history', 'it must be restart: blocks cannot go on with other arms'],
    ['blocks', undefined, retired('9'), 'changes[0].factor', 'blocks are within the factor 9'],
    ['minimization', undefined, { kind: 'urn', D: 'range' }, 'changes[0].kind', 'the study has no urns'],
    ['complete', 'keep', ratio(2, 1, 1), 'history', `a new ratio makes new slots, so ${DRAWN} must restart`],
    ['complete', 'keep', visits('V2'), 'history', `no change touches ${DRAWN} (hint: leave it out)`],
    ['list', 'keep', closed(RMCA), 'history', 'it must be restart: a list cannot go on with other arms'],
    ['list', undefined, ratio(2, 1, 1), 'changes[0].value', OWN_RATIO],
    ['list', undefined, added('D', { ratio: 2 }), 'changes[0].ratio', OWN_RATIO],
    ['list', undefined, retired('9'), 'changes[0].factor', 'the list is within the factor 9'],
  ])('what cannot be done with %s: %s, %j', (name, history, change, field, why) => {
    const { treatments, factors } = CONFIGURATION;
    const method = ['blocks', 'list'].includes(name) ? { name, by: ['9'] } : { name };
    const other = { name: 'S', mode: 'test', treatments, factors, method } as StudyConfiguration;
    const before = registeredDesign(other);
    expect(amendmentProblem(before, amendmentOf(amend([change], 1, { history }), before), ASKED.at)).toEqual({
      ...{ type: 'not-amendable', problems: [{ field, why }] },
    });
  });

  it('all problems at once', () => {
    const changes = [site.added(COOK), site.added('x'), site.closed('y')];
    const outcome = begun().ask(amend(changes, 1, { approvals: [] }));
    const fields = outcome.type === 'not-amendable' ? outcome.problems.map(({ field }) => field) : [];
    expect(fields).toEqual(['approvals', 'changes[0].level', 'changes[2].level']);
  });

  it('the number of another one, and once with the same idempotency key', () => {
    const trial = begun();
    for (const number of [0, 2])
      expect(trial.ask(amend([site.added(MCLEAN)], number))).toEqual({
        ...{ type: 'stale', field: 'amendment', why: 'the next amendment is number 1' },
      });
    const command = amend([site.added(MCLEAN)], 1, { idempotencyKey: 'k' });
    trial.ask(command);
    expect(trial.ask(command)).toEqual({ type: 'done-before', revision: 3, data: {} });
    expect(trial.ask({ ...command, reason: 'another' })).toEqual({ type: 'idempotency-key-reused' });
  });
});

const CHANGES = [added('D'), closed(RMCA), reopened(RMCA), ratio(2, 1, 1), site.added('x'), retired('9')];

it.each<[Design['method']['name'], DesignChange['kind'][]]>([
  ['urn', ['arm-added', 'ratio']],
  ['complete', ['arm-added', 'ratio']],
  ['blocks', ['arm-added', 'arm-closed', 'arm-reopened', 'ratio']],
  ['minimization', ['arm-added', 'arm-reopened', 'ratio']],
  ['list', ['arm-added', 'arm-closed', 'arm-reopened', 'ratio']],
])('%s restarts with %j, unless something else is asked for, and goes on with all else', (name, kinds) => {
  const method = { name } as Design['method'];
  const histories = CHANGES.map((change) => defaultHistory([change], { method }));
  expect(histories).toEqual(CHANGES.map(({ kind }) => (kinds.includes(kind) ? 'restart' : 'keep')));
});

describe('an amendment', () => {
  it('is possible while the study is paused or closed, with a protocol alone, and in a test without an approval', () => {
    const trial = begun();
    trial.record({ act: 'StudyPaused', reason: 'review' });
    trial.amend(site.added(MCLEAN));
    trial.record({ act: 'StudyClosed', reason: 'done', cause: 'end' });
    expect(trial.ask(amend([], 2, { protocol: { version: '3' } }))).toEqual({ type: 'amended' });
    expect(trial.registered).toMatchObject({ status: 'closed', design: { protocol: { version: '3' } } });
    const test = begun({ mode: 'test' });
    expect(test.ask(amend([visits('V2')], 1, { approvals: [] }))).toEqual({ type: 'amended' });
  });

  it('refuses a command that was checked against the design before it', () => {
    const trial = begun();
    trial.amend(site.added(MCLEAN));
    expect(trial.enrol('c', LEVELS, { amendment: 0 })).toEqual({ type: 'amended-meanwhile' });
    expect(trial.enrol('a', LEVELS, { amendment: 0 })).toMatchObject({ type: 'duplicate' });
    expect(trial.enrol('c', LEVELS, { amendment: 1 })).toMatchObject({ type: 'randomized' });
  });
});

it.each(['', 'a\tb', 'x\u200by', 'n'.repeat(201)])('the names of new levels may not be %j', (name) => {
  expect(newNameProblems([site.added(name)])).toMatchObject([{ field: 'changes[0].level' }]);
  expect(newNameProblems([renamed(COOK, name)])).toMatchObject([{ field: 'changes[0].to' }]);
  expect(newNameProblems([added(name)])).toMatchObject([{ field: 'changes[0].treatment' }]);
  expect(newNameProblems([site.closed(name)])).toEqual([]);
});

describe('a closed level', () => {
  it('accepts nobody until it is reopened', () => {
    const trial = begun();
    trial.amend(site.closed(DUPAGE));
    expect(trial.enrol('c')).toEqual({ type: 'level-closed', factor: '9', level: DUPAGE });
    expect(trial.enrol('c', ['Female', COOK])).toMatchObject({ type: 'randomized' });
    // It can still be the corrected level of a participant.
    trial.record(corrects('b', '9', COOK, DUPAGE));
    trial.amend(site.reopened(DUPAGE));
    expect(trial.enrol('d')).toMatchObject({ type: 'randomized' });
  });

  it('is the reason for a refusal after paused, closed and suspended, but before a limit', () => {
    const trial = begun({ limits: { total: 2 }, policies: { stopAtLimit: true } });
    trial.amend(site.closed(DUPAGE));
    expect(trial.enrol('c')).toMatchObject({ type: 'level-closed' });
    expect(trial.enrol('c', LEVELS, { suspended: true })).toMatchObject({ because: 'suspended' });
    trial.record({ act: 'StudyPaused', reason: 'review' });
    expect(trial.enrol('c')).toMatchObject({ because: 'paused' });
  });
});

describe('a renamed level', () => {
  it('keeps its limit under the new name, also for corrections', () => {
    const limits = { levels: [{ factor: '9', level: DUPAGE, max: 1 }] };
    const trial = begun({ limits, policies: { stopAtLimit: true } });
    trial.amend(renamed(DUPAGE, 'DuPage'));
    expect(trial.enrol('c', ['Female', 'DuPage'])).toMatchObject({ type: 'full' });
    trial.record(corrects('a', '9', 'DuPage', COOK));
    expect(trial.enrol('c', ['Female', 'DuPage'])).toMatchObject({ type: 'randomized' });
  });

  it('does not change the answer to an earlier request, and can go back to its earlier name', () => {
    const trial = new TrialRun();
    trial.enrol('a', LEVELS, { idempotencyKey: 'k' });
    trial.amend(renamed(DUPAGE, 'DuPage'));
    for (const site of [DUPAGE, 'DuPage']) {
      expect(trial.enrol('a', ['Female', site], { idempotencyKey: 'k' })).toMatchObject({ type: 'repeated' });
      expect(trial.enrol('a', ['Female', site])).toMatchObject({ type: 'duplicate', differingFactors: [] });
    }
    expect(trial.enrol('a', ['Female', COOK])).toMatchObject({ differingFactors: ['9'] });
    expect(trial.enrol('b')).toEqual({ type: 'level-unknown', factor: '9', level: DUPAGE });
    trial.amend(renamed('DuPage', DUPAGE));
    expect(trial.enrol('b')).toMatchObject({ type: 'randomized' });
  });

  it('stays within the limits of a key that uses its old or its new name', () => {
    const trial = begun();
    trial.amend(renamed(DUPAGE, 'DuPage'), renamed('DuPage', 'Du Page'));
    const levels = currentLevels(trial.list.find('a') ?? { participantId: '', levels: [], revision: 0 });
    for (const named of [DUPAGE, 'DuPage', 'Du Page', COOK])
      expect(isWithin([{ factor: '9', levels: [named] }], trial.registered.design, levels), named).toBe(
        named !== COOK,
      );
  });
});

it('limits, policies, pattern and target apply from then on, and count everybody already enrolled', () => {
  const trial = begun();
  const value = { total: 3, levels: [{ factor: '9', level: DUPAGE, max: 1 }] };
  trial.amend({ kind: 'limits', value }, { kind: 'policy', name: 'stopAtLimit', value: true });
  expect(trial.last('StudyAmended').history).toBeUndefined();
  expect(trial.enrol('c')).toMatchObject({ type: 'full', limit: { max: 1 } });
  trial.enrol('c', ['Female', COOK]);
  expect(trial.enrol('d', ['Female', COOK])).toMatchObject({ type: 'full', limit: { max: 3 } });
  trial.amend({ kind: 'limits' });
  expect(trial.enrol('d')).toMatchObject({ type: 'randomized' });
  trial.amend({ kind: 'limits', value: { total: 5 } });
  expect(trial.enrol('e')).toMatchObject({ type: 'randomized' });
  expect(trial.enrol('f')).toMatchObject({ type: 'full', limit: { max: 5 } });
});

describe('visits', () => {
  it('are none unless they are registered, become those of an amendment, and are found in any case of letters', () => {
    expect(new TrialRun().registered.design.visits).toEqual([]);
    const trial = new TrialRun({ visits: ['V2', 'V3'] });
    for (const value of [['V3', 'Week 12'], []]) {
      trial.amend(visits(...value));
      expect(trial.last('StudyAmended')).not.toHaveProperty('history');
      expect(trial.registered.design.visits).toEqual(value);
    }
    const visited = new TrialRun({ visits: ['Week 12', 'V2'] });
    const { design } = visited.registered;
    const found = ['WEEK 12', 'v2', 'V 2'].map((visit) => declaredVisit(design, visit));
    expect(found).toEqual(['Week 12', 'V2', undefined]);
    // A short name of an arm stands in a visit by chance, and a long one may if the visit goes before.
    visited.amend(added('12'));
    visited.amend(visits('V2'), added('Week'));
  });

  /** The study with visits, and participants with a pack for each of these. `undefined`: it was never theirs. */
  function withPacks(
    declared: readonly string[],
    given: Readonly<Record<string, readonly (string | undefined)[]>>,
  ): TrialRun {
    const trial = new TrialRun({ visits: [...declared] });
    for (const [id, of] of Object.entries(given)) {
      trial.enrol(id);
      const enrolled = trial.registered.participants.get(id);
      if (!enrolled) throw new Error(`${id} is not in the study`);
      const dispensed = of.map((visit, i) => ({
        ...{ code: `${id}-${i}`, visit, at: '2026-03-02T09:00:00.000Z', replacements: 0 },
      }));
      trial.registered.participants.replace({ ...enrolled, dispensed });
    }
    return trial;
  }

  const BOTH = { a: ['V3'], b: ['V2', 'V3'] };
  const stays = (names: string) => `somebody has a pack for ${names}: a visit with packs stays`;
  const asWritten = (name: string) => `somebody has a pack for ${name}: it must be written like that`;
  it.each<[string, readonly DesignChange[], object]>([
    [stays('"V3", "V2"'), [visits()], BOTH],
    [asWritten('"V2"'), [visits('v2', 'V3')], BOTH],
    [`${stays('"V3"')}; ${asWritten('"V2"')}`, [visits('v2')], BOTH],
    [stays('"V2"'), [visits('V2', 'V5', 'V3'), visits('V3')], BOTH],
    // It may be declared later, if it is written as it is recorded.
    [asWritten('"Unit 1"'), [visits('V2', 'unit 1')], { a: ['Unit 1'] }],
  ])('stay as they are written while somebody has a pack for them: %s', (why, changes, given) => {
    const trial = withPacks(['V2', 'V3', 'V4'], given as typeof BOTH);
    const field = `changes[${changes.length - 1}].value`;
    expect(trial.ask(amend(changes))).toEqual({ type: 'not-amendable', problems: [{ field, why }] });
  });

  it('may stand in another order, beside others, and go once nobody has a pack for them', () => {
    withPacks(['V2', 'V3', 'V4'], BOTH).amend(visits('V3', 'Week 12', 'V2'));
    withPacks(['V2', 'V3'], { a: [undefined, 'V3'], b: [] }).amend(visits('V3'));
    withPacks(['V2'], { a: ['Unplanned 1'] }).amend(visits('V2', 'V3'), visits('V2', 'Unplanned 1'));
  });
});

describe('a stopped arm', () => {
  it('is one that is closed, until it is reopened; it has no history, and changes no count', () => {
    const trial = new TrialRun();
    trial.enrol('a');
    trial.amend(closed(RMCA));
    const before = trial.counts();
    expect(trial.ask(amend([stopped(RMCA)], 2, { history: 'keep' }))).toMatchObject({
      problems: [{ field: 'history' }],
    });
    trial.amend(stopped(RMCA));
    expect(trial.last('StudyAmended')).not.toHaveProperty('history');
    expect(trial.counts()).toEqual(before);
    const { design } = trial.registered;
    expect(design).toMatchObject({ closedTreatments: [RMCA], stoppedTreatments: [RMCA] });
    trial.amend(reopened(RMCA));
    expect(trial.registered.design).toMatchObject({ closedTreatments: [], stoppedTreatments: [] });
    trial.amend(closed(RMCA));
    expect(trial.registered.design.stoppedTreatments).toEqual([]);
    expect(amendmentOf(amend([stopped(RMCA), closed(MART)]), design).history).toBe('keep');
  });

  it('gets no lists of packs, and a list says under seal that it has some of a closed arm', () => {
    const trial = new TrialRun();
    const both = { [MART]: 1, [RMCA]: 1 };
    const taken = (command: RegisterPacks, more: object) => {
      expect(trial.ask(command)).toEqual({ type: 'codes-registered' });
      const { key, entries } = command;
      expect(trial.facts.at(-1)?.sections).toEqual({ codes: { key, entries, ...more } });
    };
    taken(listOf(1, both), {});
    trial.amend(closed(RMCA));
    taken(listOf(2, both), { closedArms: true });
    taken(listOf(3, { [MART]: 1 }), {});
    expect(trial.registered.packs.get('2-1-0')).toMatchObject({ treatment: RMCA });
    trial.amend(stopped(RMCA));
    expect(trial.ask(listOf(4, both))).toEqual({
      ...{ type: 'impossible', field: 'entries', why: '4-1-0: the arm RMC-A is stopped' },
    });
    trial.amend(reopened(RMCA));
    taken(listOf(4, both), {});
  });
});

function twelve(): TrialRun {
  const trial = new TrialRun();
  for (let n = 0; n < 12; n++) trial.enrol(`p${n}`, [n % 3 === 0 ? 'Male' : 'Female', SITES[n % 2] ?? '']);
  return trial;
}

it('an arm can be entered for an allocation made outside while it was there and open', () => {
  const trial = twelve();
  const entered = (id: string, treatment: string, occurredAt?: string) =>
    trial.ask(force(id, { treatment, ...(occurredAt !== undefined && { occurredAt }) }));
  const justBefore = (at: string) => new Date(Date.parse(at) - 1).toISOString();
  const [noArm, recorded] = [{ type: 'impossible', field: 'treatment' }, { type: 'recorded' }];
  trial.amend(closed(RMCA));
  const { latestAt } = trial.registered;
  expect(entered('x', RMCA, latestAt)).toMatchObject(noArm);
  expect(entered('x', RMCA, justBefore(latestAt))).toMatchObject(recorded);
  trial.amend(reopened(RMCA));
  expect(entered('y', RMCA, latestAt)).toMatchObject(noArm);
  expect(entered('y', RMCA)).toMatchObject(recorded);
  // Each time that it was closed ends with its own reopening.
  const between = trial.registered.latestAt;
  trial.amend(closed(RMCA));
  trial.amend(reopened(RMCA));
  expect(entered('z', RMCA, between)).toMatchObject(recorded);
  trial.amend(added('D'));
  const addedAt = trial.registered.latestAt;
  expect(entered('d', 'D', justBefore(addedAt))).toMatchObject(noArm);
  expect(entered('d', 'D', addedAt)).toMatchObject(recorded);
});

it('urns can start afresh with any change that touches them', () => {
  const trial = twelve();
  expect(trial.ask(amend([closed(RMCA)], 1, { history: 'restart' }))).toEqual({ type: 'amended' });
  expect(trial.registered.design).toMatchObject({ epoch: 1, epochBegan: 13 });
  expect(methodInForce(trial.registered.design)).toEqual({ D: 'chisquare', w: 1, alpha: 0, beta: 1 });
  trial.amend({ kind: 'urn', beta: 2 });
  expect(methodInForce(trial.registered.design)).toMatchObject({ beta: 2 });
  // As a whole: two arms are open in the end.
  twelve().amend(closed(MART), closed(RMCA), added('D'));
});

describe('a retired factor', () => {
  it('is no longer drawn from, recorded or corrected', () => {
    const trial = twelve();
    trial.amend(retired('9'));
    expect(trial.enrol('q', ['Male', ''])).toMatchObject({ type: 'randomized' });
    expect(trial.facts.at(-1)?.sections).toMatchObject({ draw: { candidates: ['10'] } });
    expect(trial.last('ParticipantRandomized').levels).toEqual([{ factor: '10', level: 'Male' }]);
    expect(trial.enrol('r', ['Male', COOK])).toEqual({ type: 'level-unknown', factor: '9', level: COOK });
    const why = 'the factor is retired';
    expect(trial.ask(corrects('p0', '9', COOK, DUPAGE))).toEqual({
      type: 'impossible',
      field: 'changes[0].factor',
      why,
    });
  });

  it('is still compared in requests from before it was retired', () => {
    const trial = new TrialRun();
    trial.enrol('a', LEVELS, { idempotencyKey: 'k' });
    trial.amend(retired('9'));
    expect(trial.enrol('a', LEVELS, { idempotencyKey: 'k' })).toMatchObject({ type: 'repeated' });
    expect(trial.enrol('a', ['Female', COOK], { idempotencyKey: 'k' })).toMatchObject({
      type: 'idempotency-key-reused',
    });
    expect(trial.enrol('a', ['Female', ''])).toMatchObject({ type: 'duplicate', differingFactors: [] });
  });

  it('is left out of an allocation entered by hand, even if it is the first factor', () => {
    const trial = twelve();
    trial.amend(retired('10'));
    const entered = force('f', { levels: ['', COOK] });
    expect(trial.ask(entered)).toMatchObject({ type: 'recorded' });
    expect(trial.last('AllocationForced').levels).toEqual([{ factor: '9', level: COOK }]);
    trial.amend(site.closed(COOK));
    expect(trial.ask({ ...entered, participantId: 'g' })).toMatchObject({
      type: 'impossible',
      field: 'levels[0].level',
    });
  });
});

const places = fc.constantFrom(COOK, DUPAGE, 'North', 'South');
const ofSite = { factor: fc.constant('9'), level: places };
const change = fc.oneof(
  fc.record({ ...ofSite, kind: fc.constantFrom('level-added', 'level-closed', 'level-reopened') }),
  fc.record({ ...ofSite, kind: fc.constant('level-renamed'), to: places }),
  fc.record({ kind: fc.constant('limits'), value: fc.record({ total: fc.integer({ min: 1, max: 9 }) }) }),
  fc.record({ kind: fc.constant('policy'), name: fc.constant('stopAtLimit'), value: fc.boolean() }),
) as fc.Arbitrary<DesignChange>;
const person = fc.stringMatching(/^[a-h]$/);
const asks = <T>(values: fc.Arbitrary<T>, command: (value: T) => Written) =>
  values.map(
    (value): LifeStep =>
      () =>
        command(value),
  );
const step = fc.oneof(
  { weight: 3, arbitrary: lifeStep },
  change.map(
    (one): LifeStep =>
      (number) =>
        amend([one], number),
  ),
  asks(fc.tuple(person, places), ([id, place]) => randomize(id, { levels: ['Male', place] })),
  asks(fc.tuple(person, places, places), ([id, from, to]) => corrects(id, '9', from, to)),
);
const namesAndCounts = (trial: TrialRun) =>
  trial.balance?.counted.factors.map(({ levels }) => levels.map(({ level, counts }) => [level, ...counts]));

it('any life with amendments leaves just the participants of the epoch in the urns, and is replayed', () => {
  check(
    fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, hasSlots) => {
      const more = {
        policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } as const,
        ...(hasSlots && { ratio: [1, 2, 1] }),
      };
      const [trial, replay] = [new TrialRun(more), new TrialRun(more).onFork()];
      for (const next of steps) {
        const command = next(trial.registered.design.amendment + 1);
        // What happens on a fork that is dropped leaves no trace.
        trial.copy().ask(command);
        expect(replay.ask(command)).toEqual(trial.ask(command));
      }
      expect(replay.facts).toEqual(trial.facts);
      expect(replay.list.inOrder).toEqual(trial.list.inOrder);
      for (const { participantId } of trial.list.inOrder)
        expect(replay.list.get(participantId)).toEqual(trial.list.get(participantId));
      const { registered } = trial;
      const { design } = registered;
      const expected = new Counts(design);
      for (const { participantId } of trial.list.inOrder) {
        const holder = registered.participants.find(participantId);
        const counted = holder && countedLevels(holder, design);
        const indexes = counted?.map((level, i) => design.factors[i]?.levels.indexOf(level) ?? -1);
        if (indexes) expected.add(indexes, holder?.slot ?? -1);
      }
      const table = design.factors.map((factor, i) =>
        factor.levels.map((_, level) => [...expected.of(i, level)]),
      );
      expect([trial.counts(), replay.counts()]).toEqual([table, table]);
      const ofArm = (counts: readonly number[], arm: string) =>
        counts.reduce((sum, n, slot) => sum + (design.slots[slot] === arm ? n : 0), 0);
      expect(namesAndCounts(trial)).toEqual(
        design.factors.map(({ levels }, f) =>
          levels.map((level, i) => [
            level,
            ...design.treatments.map((arm) => ofArm(table[f]?.[i] ?? [], arm)),
          ]),
        ),
      );
    }),
    { numRuns: 400 },
  );
});
