/**
 * The import of a history: what is refused, and what it does to the study. Which rows can be drawn again, why others cannot, and
 * how the study continues: test/vectors/life-histories.json.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rehearse } from '../../../src/cli/import.ts';
import type { ImportParticipant, StudyCommand } from '../../../src/core/study/commands.ts';
import { ASKED, CONFIGURATION, LEVELS, randomize } from '../../support/facts.ts';
import { beginImport, type Drawn, drawnRows, IMPORT } from '../../support/import-facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';

const [, DUPAGE] = CONFIGURATION.factors[1]?.levels ?? [];
const END = { type: 'end-import', import: IMPORT } as const;
const ABORT = { ...END, abortedBecause: 'the wrong file' };

/** For each row, why it was not drawn again, or `redrawn` if it was. */
function proofs({ facts }: TrialRun): string[] {
  return facts.flatMap((fact) => (fact.type === 'ParticipantImported' ? [fact.data.cause ?? 'redrawn'] : []));
}

const cook = ['Male', '11-Cook County – Chicago'];
const FIVE = drawnRows([{}, { levels: cook }, {}, { levels: ['Male', DUPAGE ?? ''] }, {}]);

const [ONE, TWO] = FIVE as [ImportParticipant, ImportParticipant];
const LEAP = { datetime: '2026-02-30', user: 'a' };

describe('an imported history', () => {
  it('is refused with an approval of the future', () => {
    const asked = (at: string) => new TrialRun().ask(beginImport(FIVE), { ...ASKED, at });
    expect(asked('2026-01-30T23:00:00.000Z')).toMatchObject({ field: 'approvals[0].on' });
    expect(asked('2026-01-31T10:00:00.000Z')).toEqual({ type: 'import-begun' });
  });

  it('blocks randomization until it is complete', () => {
    const trial = new TrialRun();
    trial.all([beginImport(FIVE), ...FIVE.slice(0, 4)]);
    expect(trial.ask(randomize('next'))).toEqual({ type: 'refused', because: 'importing' });
    expect(trial.ask(END)).toMatchObject({ type: 'impossible', why: '4 of 5 rows are in' });
    expect(trial.all([...FIVE.slice(4), END])).toEqual(['imported', 'import-ended']);
    expect(trial.ask(randomize('next'))).toMatchObject({ type: 'randomized' });
    expect(trial.ask(randomize('i1'))).toMatchObject({ type: 'duplicate' });
  });

  it('ends only with as many rows drawn again as it began with', () => {
    const trial = new TrialRun();
    trial.all([beginImport(FIVE, {}, 3), ...FIVE]);
    expect(trial.ask(END)).toMatchObject({ type: 'impossible', why: '5 rows were drawn again, not 3' });
  });

  it('leaves no trace when it is given up', () => {
    const trial = new TrialRun();
    const before = [trial.counts(), trial.registered.bgState];
    expect(trial.all([beginImport(FIVE), ...FIVE.slice(0, 3), ABORT]).at(-1)).toBe('import-aborted');
    expect([trial.counts(), trial.registered.bgState]).toEqual(before);
    expect([trial.list.inOrder, trial.list.find('i1')]).toEqual([[], undefined]);
    // It can be imported again, from another file.
    expect(trial.all([beginImport(FIVE), ...FIVE, END]).at(-1)).toBe('import-ended');
    expect(trial.ask(ABORT)).toEqual({ type: 'not-importing' });
  });

  it('needs a study without participants, and an approval if the study is live', () => {
    const trial = new TrialRun();
    expect(trial.ask(beginImport(FIVE, { approvals: [] }))).toMatchObject({ field: 'approvals' });
    expect(new TrialRun({ mode: 'test' }).ask(beginImport(FIVE, { approvals: [] })).type).toBe(
      'import-begun',
    );
    trial.ask(randomize('first'));
    expect(trial.ask(beginImport(FIVE))).toEqual({ type: 'not-empty' });
  });

  it.each<[string, StudyCommand[], object]>([
    ['of another import', [{ ...ONE, import: '0' }], { field: 'import' }],
    ['out of order', [TWO, ONE], { field: 'row' }],
    ['sent twice', [ONE, ONE], { field: 'row' }],
    ['with the id of another row', [ONE, { ...TWO, participantId: 'i1' }], { type: 'duplicate' }],
    ['with an invalid time', [{ ...ONE, original: LEAP }], { field: 'original.datetime' }],
    ['with an unknown arm', [{ ...ONE, treatment: 'X' }], { field: 'treatment' }],
  ])('rejects a row %s', (_, rows, expected) => {
    const trial = new TrialRun();
    trial.ask(beginImport(FIVE));
    const outcomes = rows.map((row) => trial.ask(row));
    expect(outcomes.at(-1)).toMatchObject(expected);
  });
});

const placed = FIVE.map((row, place) => ({ ...row, place }));

it('a row that gives its place is imported only once, and never before the rows that precede it', () => {
  const trial = new TrialRun();
  trial.ask(beginImport(FIVE));
  expect(trial.ask(placed[1] as ImportParticipant)).toMatchObject({ type: 'stale' });
  expect(trial.all([...placed.slice(0, 3), ...placed.slice(1)])).toEqual(Array(7).fill('imported'));
  expect(proofs(trial)).toHaveLength(5);
  expect(trial.all([END, ...placed])).toEqual(['import-ended', ...Array(5).fill('not-importing')]);
});

describe('the proof of a row', () => {
  it('covers draws from the state of any of the last 32 rows, and no earlier one', () => {
    const drawn: Drawn[] = Array.from({ length: 40 }, () => ({}));
    for (const [back, proof] of [
      [32, 'redrawn'],
      [33, 'differs'],
    ] as const) {
      const trial = new TrialRun();
      const rows = drawnRows([...drawn, { back }]);
      trial.all([beginImport(rows, {}, 0), ...rows]);
      expect(proofs(trial).at(-1)).toBe(proof);
    }
  });

  it('is that of the slots of a ratio, whose order is that of the imbalance', () => {
    // Urns with few participants are often equally imbalanced, but for the order of their slots.
    const levels = Array.from({ length: 20 }, (_, i) => `${i + 1}`);
    const factors = ['site', 'surgeon'].map((name) => ({ name, levels }));
    const names = ['A1', 'A2', 'B'];
    const there = { ...CONFIGURATION, factors, D: 'variance', treatments: names } as const;
    const people = Array.from({ length: 300 }, (_, i) => ({
      levels: [levels[i % 20] ?? '', levels[(i + Math.floor(i / 20)) % 20] ?? ''],
    }));
    const rows = drawnRows(people, there).map(({ treatment, ...row }) => ({
      ...{ ...row, treatment: treatment[0] ?? '', slot: names.indexOf(treatment) },
    }));
    const trial = new TrialRun({ factors, D: 'variance', treatments: ['A', 'B'], ratio: [2, 1] });
    trial.all([beginImport(rows), ...rows, END]);
    expect(proofs(trial)).toEqual(rows.map(() => 'redrawn'));
  });

  it('is the same in a rehearsal, the import and a replay', () => {
    const drawn = fc.record({
      levels: fc.tuple(fc.constantFrom('Male', 'Female'), fc.constantFrom(LEVELS[1] ?? '', cook[1] ?? '')),
      back: fc.integer({ min: 1, max: 4 }),
      countsBack: fc.integer({ min: 1, max: 4 }),
    });
    check(
      fc.property(fc.array(drawn, { minLength: 1, maxLength: 30 }), (rows) => {
        const history = drawnRows(rows.map((row, i) => ({ ...row, back: Math.min(row.back, i + 1) })));
        const { redrawn, unproven } = rehearse(new TrialRun().registered, beginImport(history), history);
        const trial = new TrialRun();
        trial.all([beginImport(history, {}, redrawn), ...history, END]);
        expect(trial.registered.status).toBe('open');
        expect(proofs(trial).filter((proof) => proof !== 'redrawn')).toEqual(
          unproven.map(({ cause }) => cause),
        );
        const replay = new TrialRun().onFork();
        replay.all([beginImport(history, {}, redrawn), ...history, END]);
        expect(replay.facts).toEqual(trial.facts);
        expect(replay.list.inOrder).toEqual(trial.list.inOrder);
      }),
      { numRuns: 100 },
    );
  });
});
