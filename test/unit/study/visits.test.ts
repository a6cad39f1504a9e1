/** Visits and stopped arms as settings of a study: what is registered and amended, and what is refused. */
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import { declaredVisit, registeredDesign } from '../../../projections/design.ts';
import { amendmentOf } from '../../../src/core/study/amendments.ts';
import type { Amend, RegisterPacks } from '../../../src/core/study/commands.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { TrialRun } from '../../support/trial-run.ts';

const APPROVED = { approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-03-01' }] };
const KEY = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';

function amend(changes: readonly DesignChange[], amendment = 1, more: Partial<Amend> = {}): Amend {
  return { type: 'amend', user: 'nurse', amendment, changes, reason: 'protocol 3', ...APPROVED, ...more };
}

const to = (...value: string[]): DesignChange => ({ kind: 'visits', value });
const arm = (kind: 'arm-closed' | 'arm-reopened' | 'arm-added' | 'arm-stopped', treatment = 'RMC-A') => ({
  ...{ kind, treatment },
});
const packs = (list: number, ...treatments: string[]): RegisterPacks => ({
  ...{ type: 'register-packs', list, key: KEY },
  entries: treatments.map((treatment, i) => ({ code: `P${list}-${i}`, treatment })),
});

/** A study with visits, and participants with a pack for each of these, by id. `undefined`: it was never theirs. */
function withPacks(
  visits: readonly string[],
  given: Readonly<Record<string, readonly (string | undefined)[]>>,
): TrialRun {
  const trial = new TrialRun({ visits: [...visits] });
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

const refused = (why: string, field = 'value', change = 0) => ({
  type: 'not-amendable',
  problems: [{ field: `changes[${change}].${field}`, why: expect.stringContaining(why) }],
});

describe('visits', () => {
  it('are none unless they are registered, and become those of an amendment', () => {
    expect(new TrialRun().registered.design.visits).toEqual([]);
    const trial = new TrialRun({ visits: ['V2', 'V3'] });
    expect(trial.registered.design.visits).toEqual(['V2', 'V3']);
    const { bgState } = trial;
    expect(trial.ask(amend([to('V3', 'Week 12')]))).toEqual({ type: 'amended' });
    expect(trial.last('StudyAmended')).not.toHaveProperty('history');
    expect(trial.registered.design.visits).toEqual(['V3', 'Week 12']);
    expect(trial.bgState).toEqual(bgState);
    expect(trial.ask(amend([to()], 2))).toEqual({ type: 'amended' });
    expect(trial.registered.design.visits).toEqual([]);
  });

  it('are found whatever the case of their letters', () => {
    const { design } = new TrialRun({ visits: ['Week 12', 'V2'] }).registered;
    expect(['week 12', 'WEEK 12', 'v2', 'V 2'].map((visit) => declaredVisit(design, visit))).toEqual([
      ...['Week 12', 'Week 12', 'V2'],
      undefined,
    ]);
  });

  it.each([
    ['what is so already', [to('V2', 'V3')], refused('it is so already', 'kind')],
    ['a visit twice', [to('V2', 'V4', 'v2')], refused('"v2" is the same as visit 1', 'value[2]')],
    ['the name of an arm', [to('V2', 'mart')], refused('"mart" is, or contains, the name', 'value[1]')],
    ['a part that is the name of an arm', [to('V2 RMC-Q')], refused('the name of an arm', 'value[0]')],
    [
      'the name of a closed arm',
      [arm('arm-closed'), to('RMC-A')],
      refused('the name of an arm', 'value[0]', 1),
    ],
    [
      'the name of an arm that is added before',
      [arm('arm-added', 'Week'), to('Week 12')],
      refused('the name of an arm', 'value[0]', 1),
    ],
  ])('cannot be amended to %s', (_, changes, outcome) => {
    expect(new TrialRun({ visits: ['V2', 'V3'] }).ask(amend(changes))).toEqual(outcome);
  });

  it('keep an arm from having a name that is in one of them', () => {
    const trial = new TrialRun({ visits: ['V2', 'Week 12'] });
    for (const name of ['v2', 'WEEK', 'Week 12'])
      expect(trial.ask(amend([arm('arm-added', name)]))).toEqual(
        refused('is, or contains, this name', 'treatment'),
      );
    // A short name stands in a visit by chance.
    expect(trial.ask(amend([arm('arm-added', '12')]))).toEqual({ type: 'amended' });
    expect(trial.ask(amend([to('V2'), arm('arm-added', 'Week')], 2))).toEqual({ type: 'amended' });
  });

  it('need no history', () => {
    const trial = new TrialRun();
    expect(trial.ask(amend([to('V2')], 1, { history: 'keep' }))).toMatchObject({
      problems: [{ field: 'history' }],
    });
  });
});

describe('a visit for which somebody has a pack', () => {
  it('stays, as it is written', () => {
    const trial = withPacks(['V2', 'V3', 'V4'], { a: ['V3'], b: ['V2', 'V3'] });
    expect(trial.ask(amend([to('V3')]))).toEqual(
      refused('somebody has a pack for "V2": a visit with packs stays'),
    );
    expect(trial.ask(amend([to()]))).toEqual(refused('somebody has a pack for "V3", "V2"'));
    expect(trial.ask(amend([to('v2', 'V3')]))).toEqual(
      refused('somebody has a pack for "V2": it must be written like that'),
    );
    expect(trial.ask(amend([to('v2')]))).toEqual(
      refused('"V3": a visit with packs stays; somebody has a pack for "V2": it must be written like that'),
    );
    // In another order, beside others, and without one that nobody has a pack for.
    expect(trial.ask(amend([to('V3', 'Week 12', 'V2')]))).toEqual({ type: 'amended' });
  });

  it('stays in each change of an amendment', () => {
    const trial = withPacks(['V2'], { a: ['V2'] });
    expect(trial.ask(amend([to('V2', 'V3'), to('V3')]))).toEqual(refused('"V2": a visit', 'value', 1));
  });

  it('may be declared later, if it is written as it is recorded', () => {
    const trial = withPacks(['V2'], { a: ['Unplanned 1'] });
    expect(trial.ask(amend([to('V2', 'unplanned 1')]))).toEqual(
      refused('somebody has a pack for "Unplanned 1": it must be written like that'),
    );
    expect(trial.ask(amend([to('V2', 'V3')]))).toEqual({ type: 'amended' });
    expect(trial.ask(amend([to('V2', 'Unplanned 1')], 2))).toEqual({ type: 'amended' });
    expect(trial.ask(amend([to('V2')], 3))).toEqual(refused('"Unplanned 1": a visit with packs stays'));
  });

  it('may go once nobody has one any more', () => {
    const trial = withPacks(['V2', 'V3'], { a: [undefined, 'V3'], b: [] });
    expect(trial.ask(amend([to('V3')]))).toEqual({ type: 'amended' });
  });
});

describe('a stopped arm', () => {
  it('is one that is closed, until it is reopened', () => {
    const trial = new TrialRun();
    expect(trial.ask(amend([arm('arm-stopped')]))).toEqual(refused('it is not closed', 'treatment'));
    expect(trial.ask(amend([arm('arm-stopped', 'D')]))).toEqual(refused('no such treatment', 'treatment'));
    expect(trial.ask(amend([arm('arm-closed'), arm('arm-stopped')]))).toEqual({ type: 'amended' });
    expect(trial.registered.design).toMatchObject({
      ...{ closedTreatments: ['RMC-A'], stoppedTreatments: ['RMC-A'] },
    });
    expect(trial.ask(amend([arm('arm-stopped')], 2))).toEqual(refused('it is stopped already', 'treatment'));
    expect(trial.ask(amend([arm('arm-reopened')], 2))).toEqual({ type: 'amended' });
    expect(trial.registered.design).toMatchObject({ closedTreatments: [], stoppedTreatments: [] });
    expect(trial.ask(amend([arm('arm-closed')], 3))).toEqual({ type: 'amended' });
    expect(trial.registered.design.stoppedTreatments).toEqual([]);
  });

  it('is stopped without a history, and changes no count', () => {
    const trial = new TrialRun();
    trial.enrol('a');
    trial.ask(amend([arm('arm-closed')]));
    const before = trial.counts();
    expect(trial.ask(amend([arm('arm-stopped')], 2, { history: 'keep' }))).toMatchObject({
      problems: [{ field: 'history' }],
    });
    expect(trial.ask(amend([arm('arm-stopped')], 2))).toEqual({ type: 'amended' });
    expect(trial.last('StudyAmended')).not.toHaveProperty('history');
    expect(trial.counts()).toEqual(before);
    expect(
      amendmentOf(amend([arm('arm-stopped'), arm('arm-closed', 'MART')]), registeredDesign(CONFIGURATION))
        .history,
    ).toBe('keep');
  });
});

describe('a list with packs of a closed arm', () => {
  const sectionOf = (trial: TrialRun) => {
    const fact = trial.facts.at(-1);
    return fact?.type === 'CodesRegistered' ? fact.sections.codes : undefined;
  };

  it('says so, under seal', () => {
    const trial = new TrialRun();
    trial.ask(packs(1, 'MART', 'RMC-Q', 'RMC-A'));
    expect(sectionOf(trial)).not.toHaveProperty('closedArms');
    trial.ask(amend([arm('arm-closed')]));
    expect(trial.ask(packs(2, 'MART', 'RMC-A'))).toEqual({ type: 'codes-registered' });
    expect(sectionOf(trial)).toMatchObject({ closedArms: true });
    expect(trial.ask(packs(3, 'MART', 'RMC-Q'))).toEqual({ type: 'codes-registered' });
    expect(sectionOf(trial)).not.toHaveProperty('closedArms');
    expect(trial.registered.packs.get('P2-1')).toMatchObject({ treatment: 'RMC-A' });
  });

  it('is refused once the arm is stopped, until it is reopened', () => {
    const trial = new TrialRun();
    trial.ask(amend([arm('arm-closed'), arm('arm-stopped')]));
    expect(trial.ask(packs(1, 'MART', 'RMC-A'))).toMatchObject({
      ...{ type: 'impossible', field: 'entries', why: 'P1-1: the arm RMC-A is stopped' },
    });
    trial.ask(amend([arm('arm-reopened')], 2));
    expect(trial.ask(packs(1, 'MART', 'RMC-A'))).toEqual({ type: 'codes-registered' });
    expect(sectionOf(trial)).not.toHaveProperty('closedArms');
  });
});
