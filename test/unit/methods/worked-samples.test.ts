/**
 * The worked samples of docs/methods.md, made in numpy: what is drawn, how it is explained, and which parameters are named; and of
 * lists that were made elsewhere, what is refused. Which entries are given, whatever happens before: vectors.test.ts.
 */

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { encodeRecord } from '../../../events/record.ts';
import type { MethodParameters, StudyConfiguration } from '../../../events/study.ts';
import { PermutedBlocks } from '../../../src/core/methods/blocks.ts';
import { OpenBlocks } from '../../../src/core/methods/memory.ts';
import { methodParameters } from '../../../src/core/study/public-design.ts';
import { explain, type RandomizedEvent } from '../../../src/evidence/explain/explain.ts';
import { explanationText } from '../../../src/evidence/explain/explanation-text.ts';
import type { Written } from '../../support/acts.ts';
import { event } from '../../support/facts.ts';
import { beginImport, IMPORT } from '../../support/import-facts.ts';
import { TrialRun } from '../../support/trial-run.ts';

const SEX = { name: 'sex', levels: ['F', 'M'] };
const SITE = { name: 'site', levels: ['1', '2', '3'] };
const STAGE = { name: 'stage', levels: ['x', 'y'] };
const PEOPLE = 'F3x M1y M2y F1y F2y F3y M3x F2x F1x M3x M3x F2y'.split(' ').map((names) => [...names]);
const ALIKE = Array<string[]>(10).fill(['F']);

function drawn(
  study: object,
  seed: bigint,
  parameters: MethodParameters,
  people: readonly (readonly string[])[],
) {
  const configuration = { name: 'S', mode: 'test', ...study } as StudyConfiguration;
  const trial = new TrialRun(configuration, seed, parameters);
  const draws = people.map((levels, i) => {
    const before = trial.copy().registered;
    trial.enrol(`p${i + 1}`, levels);
    const fact = trial.facts.at(-1);
    if (fact?.type !== 'ParticipantRandomized') throw new Error('nobody was randomized');
    const why = explain(before, event(fact, i + 1) as RandomizedEvent);
    expect(why.agrees).toBe(true);
    const { pick, allocation } = fact.sections;
    return { ...pick, arm: allocation.treatment, why, text: explanationText(why) };
  });
  return {
    ...{ trial, draws, arms: draws.map(({ arm }) => arm).join('') },
    parameters: () => methodParameters(trial.registered.design, parameters),
  };
}

describe('permuted blocks', () => {
  const of = (by: string[], perSlot: number[], people: readonly string[][], more = {}) => {
    const treatments = ['A', 'B'];
    const study = { treatments, factors: [SITE], method: { name: 'blocks', by }, ...more };
    return drawn(study, 2026n, { blocks: { perSlot } }, people);
  };

  it('of 4 and 6 in two strata are those of the worked sample', () => {
    const { draws, arms, trial, parameters } = of(
      ['site'],
      [2, 3],
      [...'121122121121'].map((site) => [site]),
    );
    expect(arms).toBe('BAAABBAABBBB');
    const sizes = [3, 2, 3, 3, 2, 2, 3, 2, 3, 3, 3, 3];
    expect(draws.map(({ block }) => block)).toEqual(
      sizes.map((perSlot, i) => ({ number: i < 10 ? 1 : 2, perSlot })),
    );
    expect(trial.bgState).toMatchObject({
      state: { state: '308269946292390932861741683681455606155' },
      ...{ has_uint32: 0, uinteger: 3950726356 },
    });
    const block = { stratum: [{ factor: 'site', level: '1' }], number: 1, size: 6, sizes: [4, 6], lot: 1 };
    expect(draws[0]?.why).toMatchObject({
      method: 'blocks',
      weights: [3, 3],
      block: { ...block, first: true },
    });
    const { why, text } = draws[8] ?? {};
    expect(why).toMatchObject({ trt: 'B', probabilities: [0, 1], block: { ...block, first: false } });
    expect(text).toContain(
      'Stratum site = 1, block 1, of 6 places (of the sizes 4 and 6, integers(2) gave 1 at its first place).',
    );
    expect(parameters()).toEqual({ sizes: [4, 6] });
  });

  it('with a ratio of 2:1 are those of the worked sample, and sizes are for the slots that are open', () => {
    const { draws, arms } = of([], [1, 2], ALIKE, { ratio: [2, 1], factors: [SEX] });
    expect(draws.map(({ slot }) => slot)).toEqual([1, 1, 0, 2, 2, 0, 0, 2, 1, 2]);
    expect(arms).toBe('AAABBAABAB');
    expect(draws.map(({ block }) => block?.perSlot)).toEqual([2, 2, 2, 2, 2, 2, 1, 1, 1, 1]);
    expect(draws[3]?.why).toMatchObject({ treatments: ['A', 'A', 'B'], slot: 2, block: { stratum: [] } });
    expect(draws[3]?.text).toContain('The whole study is one stratum, block 1, of 6');
    const one = { stratum: [], number: 1, size: 4, sizes: [4], first: true };
    const [{ why } = {}] = of([], [2], ALIKE, { factors: [SEX] }).draws;
    expect(why, 'no lot among one size').toHaveProperty('block', one);
    const { trial, parameters } = of([], [1, 2], [], { treatments: ['A', 'B', 'C'] });
    expect(parameters()).toEqual({ sizes: [3, 6] });
    trial.amend({ kind: 'arm-closed', treatment: 'C' });
    expect(parameters()).toEqual({ sizes: [2, 4] });
  });

  it('keep their number, and no place, when they are dropped, and do not have a place twice', () => {
    const blocks = new PermutedBlocks({ slots: ['A', 'B'], hasRatio: false, by: [], perSlot: [2] });
    const memory = { blocks: new OpenBlocks() };
    blocks.use(memory, [0], 0, 2);
    memory.blocks.drop();
    blocks.look(memory, [0]);
    expect([...blocks.chances]).toEqual([0.5, 0.5]);
    blocks.use(memory, [0], 1, 1);
    expect(memory.blocks.latest('')).toEqual({ number: 2, perSlot: 1, left: [1, 0] });
    expect(() => blocks.use(memory, [0], 1, 1)).toThrow(RangeError);
  });
});

it('complete randomization in the ratio 2:1:1 is that of the worked sample', () => {
  const study = {
    treatments: ['A', 'B', 'C'],
    ratio: [2, 1, 1],
    factors: [SEX],
    method: { name: 'complete' },
  };
  const { draws, arms, parameters } = drawn(study, 2026n, {}, ALIKE);
  expect(arms).toBe('ABAAACCABA');
  const [{ why } = {}] = draws;
  expect(why).toMatchObject({ method: 'complete', weights: [1, 1, 1, 1], uniform53: 1611701520384607 });
  for (const name of ['block', 'minimization']) expect(why).not.toHaveProperty(name);
  expect(parameters()).toBeUndefined();
});

describe('minimization', () => {
  const of = (given: object, more = {}) => {
    const treatments = ['A', 'B', 'C'];
    const study = { treatments, factors: [SEX, SITE, STAGE], method: { name: 'minimization' }, ...more };
    const minimization = { measure: 'range', pThousandths: 800, ...given } as const;
    const found = drawn(study, 2033n, { minimization }, PEOPLE);
    expect(found.trial.bgState.state.state).toBe('317772102487831745468505650783456004176');
    return found;
  };

  it('is that of the worked sample', () => {
    const { draws, arms, parameters } = of({});
    expect(arms).toBe('ACBACACBBACB');
    const minimization = { measure: 'range', p: 0.8, scores: [3, 3, 5], best: 2 };
    const weights = [1800, 1800, 400];
    expect(draws[2]?.why).toMatchObject({ method: 'minimization', trt: 'B', weights, minimization });
    expect(parameters()).toEqual({ p: 0.8, measure: 'range' });
  });

  it.each<[given: { weights?: number[]; measure?: 'variance' }, arms: string]>([
    [{ weights: [1, 3, 1] }, 'ACBACACABBCB'],
    [{ measure: 'variance' }, 'ACBBCACBABCA'],
    [{ measure: 'variance', weights: [1, 3, 1] }, 'ACBBCACABBCC'],
  ])('with %j is that of the worked sample', (given, expected) => {
    const { draws, arms, parameters } = of(given);
    expect(arms).toBe(expected);
    if (!given.weights) return;
    expect(draws[11]?.text).toMatch(/site = 2 +3 /);
    const weights = new Map([SEX, SITE, STAGE].map(({ name }, i) => [name, [1, 3, 1][i]]));
    expect(parameters()).toEqual({ p: 0.8, measure: given.measure ?? 'range', weights });
  });

  it('in the ratio 2:1 is that of the worked sample', () => {
    const { draws, arms } = of({}, { treatments: ['A', 'B'], ratio: [2, 1] });
    expect(arms).toBe('ABAABABAAABA');
    expect(draws.map(({ slot }) => slot)).toEqual([0, 2, 1, 0, 2, 0, 2, 1, 1, 0, 2, 1]);
  });
});

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
  factors: [SEX, { name: 'local_site', levels: ['11', '30'] }],
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

describe('the worked sample of lists', () => {
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
  const one = (entry: object) => ({ entries: [entry] });
  it.each<[string, string, string, object]>([
    ['stale', 'list', 'the next list is number 1', { list: 2 }],
    ['stale', 'first', '0 rows of the file are in', { first: 2 }],
    ['impossible', 'entries[0].treatment', 'it is no open arm', one({ levels: ['11'], treatment: 'C' })],
    ['impossible', 'entries[0].levels', STRATUM, one({ levels: ['12'], treatment: 'A' })],
    ['impossible', 'entries[0].levels', STRATUM, one({ treatment: 'A' })],
    ['impossible', 'count', 'a list has at most 4000 entries', { entries: Array(4001).fill(ENTRIES[0]) }],
  ])('as %s for its %s: %s', (type, field, why, more) => {
    expect(new TrialRun(CONFIGURATION).ask(listOf(ENTRIES, more))).toEqual({ type, field, why });
  });

  it('in a live study without an approval, and in a study that draws', () => {
    const trial = new TrialRun({ ...CONFIGURATION, mode: 'live' });
    expect(trial.ask(listOf(ENTRIES))).toMatchObject({ type: 'impossible', field: 'approvals' });
    expect(new TrialRun().ask(listOf(ENTRIES))).toMatchObject({ why: 'the study follows no list' });
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
    [Array(2).fill({ levels: ['11'], count: 1 }), 'the stratum is there twice'],
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
