/**
 * Lists that were made elsewhere: the seal of the worked sample, and what is refused. Which entries are given, whatever happens before:
 * vectors.test.ts.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import type { StudyFact } from '../../../events/catalogue.ts';
import { encodeRecord } from '../../../events/record.ts';
import type { StudyConfiguration } from '../../../events/study.ts';
import { explain, type RandomizedEvent } from '../../../src/evidence/explain/explain.ts';
import { explanationText } from '../../../src/evidence/explain/explanation-text.ts';
import type { Written } from '../../support/acts.ts';
import { amend } from '../../support/arbitrary-life.ts';
import { event } from '../../support/facts.ts';
import { beginImport, IMPORT } from '../../support/import-facts.ts';
import { TrialRun } from '../../support/trial-run.ts';

const CSV = 'treatment,local_site\nA,11\nB,30\nB,11\nA,11\nA,30\nB,11\n';
const FILE = createHash('sha256').update(CSV).digest('hex');
const ENTRIES = [...CSV.matchAll(/^([AB]),(\d+)$/gm)].map(([, treatment = '', site = '']) => ({
  ...{ levels: [site], treatment },
}));

const CONFIGURATION: StudyConfiguration = {
  name: 'Listed',
  mode: 'test',
  method: { name: 'list', by: ['local_site'] },
  treatments: ['A', 'B'],
  factors: [
    { name: 'sex', levels: ['F', 'M'] },
    { name: 'local_site', levels: ['11', '30'] },
  ],
};

const listOf = (entries: readonly { readonly levels?: string[]; readonly treatment: string }[], more = {}) =>
  ({ type: 'register-list', list: 1, approvals: [], file: FILE, first: 1, entries, ...more }) as Written;

const skip = (skipped: readonly { readonly levels?: string[]; readonly count: number }[]) =>
  ({ type: 'skip-entries', reason: 'paper envelopes', skipped }) as Written;

function listed(entries = ENTRIES) {
  const trial = new TrialRun(CONFIGURATION);
  expect(trial.ask(listOf(entries))).toEqual({ type: 'list-registered' });
  return trial;
}

let participants = 0;
/** @returns the arm and the entry of a new participant, or why there is none */
function next(trial: TrialRun, site: string): string {
  const { type } = trial.enrol(String(participants++), ['F', site]);
  const fact = trial.facts.at(-1);
  if (type !== 'randomized' || fact?.type !== 'ParticipantRandomized') return type;
  const { allocation, entry } = fact.sections;
  expect(Object.keys(fact.sections).sort()).toEqual(['allocation', 'entry']);
  return `${allocation.treatment} ${entry?.list}.${entry?.entry}`;
}

describe('the worked sample', () => {
  it('has this seal', () => {
    const { facts } = listed();
    const fact = facts[1];
    if (fact?.type !== 'ListRegistered') throw new Error('no list');
    const header = {
      ...{ id: '00000000-0000-4000-8000-000000000001', log: '00000000-0000-4000-8000-000000000002' },
      ...{ stream: 'study-x', revision: 1, at: '2027-02-01T00:00:00.000Z' },
      actor: { cli: true as const, user: 'ode' },
    };
    const { record, sealed } = encodeRecord(header, fact, () => '000102030405060708090a0b0c0d0e0f');
    expect(FILE).toBe('af0a14b6c8b8d6b1f30cb7181b0617ff3c445552c881403169f136f10f023681');
    expect(Buffer.from(sealed).length - '{"list":}'.length).toBe(343);
    expect(JSON.parse(Buffer.from(record).toString()).seals).toEqual({
      list: 'b196f74480ff8eb6f74a1531155c4865b7b75d768747269aa03f0b32d2a8b343',
    });
  });

  it('gives these entries, draws nothing, and is explained', () => {
    const trial = listed();
    const { bgState } = trial;
    expect(['30', '11'].map((site) => next(trial, site))).toEqual(['B 1.2', 'A 1.1']);
    const before = trial.copy().registered;
    expect(next(trial, '11')).toBe('B 1.3');
    const why = explain(before, event(trial.facts.at(-1) as StudyFact, 4) as RandomizedEvent);
    expect(why).toMatchObject({
      ...{ agrees: true, method: 'list', trt: 'B', treatments: ['A', 'B'] },
      entry: { list: 1, entry: 3, stratum: [{ factor: 'local_site', level: '11' }] },
    });
    for (const name of ['uniform53', 'weights', 'probabilities', 'bg_state_before', 'bg_state_after'])
      expect(why).not.toHaveProperty(name);
    expect(explanationText(why)).toContain(
      'Entry 3 of list 1: the first unused of local_site = 11; nothing was drawn.',
    );
    expect(['30', '30'].map((site) => next(trial, site))).toEqual(['A 1.5', 'no-entry']);
    expect(trial.bgState).toEqual(bgState);
  });
});

describe('a list is refused', () => {
  const STRATUM = 'the study has no such stratum';
  it.each<[string, string, string, object]>([
    ['stale', 'list', 'the next list is number 1', { list: 2 }],
    ['stale', 'first', '0 rows of the file are in', { first: 2 }],
    [
      'impossible',
      'entries[0].treatment',
      'it is no open arm',
      { entries: [{ levels: ['11'], treatment: 'C' }] },
    ],
    ['impossible', 'entries[0].levels', STRATUM, { entries: [{ levels: ['12'], treatment: 'A' }] }],
    ['impossible', 'entries[0].levels', STRATUM, { entries: [{ treatment: 'A' }] }],
    ['impossible', 'count', 'a list has at most 4000 entries', { entries: Array(4001).fill(ENTRIES[0]) }],
  ])('as %s for its %s: %s', (type, field, why, more) => {
    expect(new TrialRun(CONFIGURATION).ask(listOf(ENTRIES, more))).toEqual({ type, field, why });
  });

  it('in a live study without an approval', () => {
    const trial = new TrialRun({ ...CONFIGURATION, mode: 'live' });
    expect(trial.ask(listOf(ENTRIES))).toMatchObject({ type: 'impossible', field: 'approvals' });
  });

  it('in a study that draws', () => {
    expect(new TrialRun().ask(listOf(ENTRIES))).toMatchObject({ why: 'the study follows no list' });
  });
});

describe('amendments', () => {
  it.each(['arm-closed', 'arm-reopened', 'arm-added'] as const)('cannot keep the list: %s', (kind) => {
    const three = new TrialRun({ ...CONFIGURATION, treatments: ['A', 'B', 'C'] });
    if (kind === 'arm-reopened') three.ask(amend([{ kind: 'arm-closed', treatment: 'C' }], 1));
    const number = kind === 'arm-reopened' ? 2 : 1;
    const treatment = kind === 'arm-added' ? 'D' : 'C';
    expect(three.ask(amend([{ kind, treatment }], number, { history: 'keep' }))).toMatchObject({
      problems: [{ field: 'history', why: 'it must be restart: a list cannot go on with other arms' }],
    });
  });

  it.each<[DesignChange, string]>([
    [{ kind: 'ratio', value: [2, 1] }, 'a list holds its own ratio'],
    [{ kind: 'arm-added', treatment: 'C', ratio: 2 }, 'a list holds its own ratio'],
    [{ kind: 'factor-retired', factor: 'local_site' }, 'the list is within the factor local_site'],
    [{ kind: 'urn', w: 2 }, 'the study has no urns'],
  ])('are refused: %o', (change, why) => {
    expect(listed().ask(amend([change], 1))).toMatchObject({ problems: [{ why }] });
  });
});

describe('a skip', () => {
  const recovered = () => {
    const trial = listed();
    next(trial, '11');
    trial.ask({ type: 'recover', recovery: 1, kept: 3, seed: 1n << 100n });
    return trial;
  };

  it.each([
    [[{ levels: ['11'], count: 4 }], 'the stratum has 3 entries left'],
    [[{ levels: ['12'], count: 1 }], 'the study has no such stratum'],
    [[{ count: 1 }], 'the study has no such stratum'],
    [
      [
        { levels: ['11'], count: 1 },
        { levels: ['11'], count: 1 },
      ],
      'the stratum is there twice',
    ],
  ])('is refused: %o', (skipped, why) => {
    expect(recovered().ask(skip(skipped))).toMatchObject({ type: 'impossible', why });
  });

  it('is refused if none is owed, and once only', () => {
    const trial = recovered();
    expect(listed().ask(skip([]))).toMatchObject({ type: 'stale' });
    trial.ask(skip([]));
    expect(trial.ask(skip([]))).toMatchObject({ type: 'stale' });
  });

  it('is not owed behind an import that was given up', () => {
    const trial = listed();
    const source = { format: 'csv', rows: 1 } as const;
    const proof = { redrawn: 0, unproven: 1 };
    trial.ask(beginImport([], { source, proof, seedKnown: undefined }));
    const given = trial.ask({ type: 'end-import', import: IMPORT, abortedBecause: 'no' });
    expect(given.type).toBe('import-aborted');
    expect(next(trial, '11')).toBe('A 1.1');
  });
});
