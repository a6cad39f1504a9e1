/** Exports for the reference, against what the reference itself wrote: test/vectors/reference-*. */

import { describe, expect, it } from 'vitest';
import type { BgState } from '../../../events/study.ts';
import { registeredDesign } from '../../../projections/design.ts';
import { allocate } from '../../../src/core/methods/urn/allocate.ts';
import type { Participant } from '../../../src/core/model/participants.ts';
import { checkReference, readReference } from '../../../src/evidence/export/reference-check.ts';
import {
  byCounting,
  eatenNames,
  notCountedCsv,
  problemsOfReference,
  referenceCsv,
  trueTimes,
} from '../../../src/evidence/export/reference-csv.ts';
import { parseCsv } from '../../support/csv.ts';
import { REFERENCE_EXPORT, referenceNext, referenceStudy } from '../../support/reference.ts';
import { urnDesignOf } from '../../support/urn-study.ts';

const STUDY = registeredDesign(referenceStudy());
const [HEAD = [], ...ROWS] = parseCsv(REFERENCE_EXPORT);
const AT = '2026-03-01T09:30:00.000Z';

/** The rows of the reference's file as participants of this service, whose clock has milliseconds. */
function asParticipants(): Participant[] {
  return ROWS.map((row, i) => {
    const cell = (name: string) => row[HEAD.indexOf(name)] ?? '';
    const at = new Date(`${cell('datetime')}Z`).toISOString();
    const levels = STUDY.factors.map(({ name }) => cell(`f_${name}`));
    const [state = '', inc = '', has = '', uinteger = ''] =
      /'state': (\d+), 'inc': (\d+)}, 'has_uint32': ([01]), 'uinteger': (\d+)/
        .exec(cell('bg_state'))
        ?.slice(1) ?? [];
    const half = { has_uint32: has === '1' ? 1 : 0, uinteger: Number(uinteger) } as const;
    return {
      ...{ participantId: cell('id'), sequence: i + 1, revision: i + 1, levels, at, user: cell('user') },
      ...{ treatment: cell('trt'), slot: STUDY.slots.indexOf(cell('trt')), onBehalfOf: undefined },
      bgStateAfter: { bit_generator: 'PCG64', state: { state, inc }, ...half },
    };
  });
}
const PARTICIPANTS = asParticipants();
const LAST = PARTICIPANTS.at(-1)?.bgStateAfter as BgState;
const counted = (participants: readonly Participant[]) => byCounting(participants, STUDY).counted;
const at = (times: readonly string[]) =>
  PARTICIPANTS.slice(0, times.length).map((one, i): Participant => ({ ...one, at: times[i] ?? '' }));
const datetimes = (csv: string) =>
  parseCsv(csv)
    .slice(1)
    .map((row) => row[HEAD.indexOf('datetime')]);
/** As if the participant were voided. */
const voided = (one: Participant, isRemoved: boolean): Participant => ({
  ...one,
  corrected: {
    ...{ id: `${one.participantId}-x`, levels: one.levels, countedLevels: one.levels },
    voided: { revision: 99, cause: 'never-enrolled', isRemoved, duplicateOf: undefined },
  },
});

describe('the file for the reference', () => {
  it('is byte for byte what the reference writes, up to the microseconds', () => {
    const cut = (csv: string) => csv.replaceAll(/(:\d\d\.\d{3})\d{3},/g, '$1000,');
    expect(referenceCsv(STUDY, counted(PARTICIPANTS))).toBe(cut(REFERENCE_EXPORT));
  });

  it('has times that increase strictly, also where the clock stood still or was set back', () => {
    const times = ['09:30:00.999', '09:30:00.999', '09:30:00.999', '09:29:00.000', '09:30:01.000'];
    const participants = at(times.map((time) => `2026-03-01T${time}Z`));
    expect(datetimes(referenceCsv(STUDY, counted(participants)))).toEqual([
      '2026-03-01 09:30:00.999000',
      '2026-03-01 09:30:00.999001',
      '2026-03-01 09:30:00.999002',
      '2026-03-01 09:30:00.999003',
      '2026-03-01 09:30:01.000000',
    ]);
    expect(parseCsv(trueTimes(counted(participants))).map(([, , time]) => time)).toEqual([
      'at',
      ...participants.map((one) => one.at),
    ]);
  });

  it('has those who are counted, under the id in use, at the levels at which they are counted', () => {
    const [one, two, three] = at([AT, AT, AT]);
    if (!one || !two || !three) throw new Error('too few');
    const moved: Participant = {
      ...three,
      corrected: { id: '300', levels: ['03-West', 'Male', '0'], countedLevels: ['02-Süd', 'Male', '1'] },
    };
    const { counted: kept, others } = byCounting([voided(one, true), voided(two, false), moved], STUDY);
    const rows = parseCsv(referenceCsv(STUDY, kept)).slice(1);
    expect(rows.map((row) => row.slice(0, 4))).toEqual([
      [`${two.participantId}-x`, ...two.levels],
      ['300', '02-Süd', 'Male', '1'],
    ]);
    const [head = [], ...left] = parseCsv(notCountedCsv(STUDY, others));
    expect(head.at(-1)).toBe('voided_cause');
    expect(left.map((row) => [row[0], row.at(-1)])).toEqual([[`${one.participantId}-x`, 'never-enrolled']]);
  });
});

describe('a study cannot go to the reference', () => {
  const problems = (participants: readonly Participant[], state = LAST) =>
    problemsOfReference(STUDY, participants, state);
  const [first] = PARTICIPANTS;
  const changed = (change: Partial<Participant>) => [
    { ...first, ...change } as Participant,
    ...PARTICIPANTS.slice(1),
  ];

  it('unless the last row has the present state of its generator', () => {
    expect(problems(PARTICIPANTS)).toEqual([]);
    expect(problems(PARTICIPANTS, { ...LAST, uinteger: 7 })).toEqual([
      expect.stringContaining('by a recovery'),
    ]);
    expect(problems([])).toEqual([expect.stringContaining('nobody is counted')]);
    const last = PARTICIPANTS.at(-1) as Participant;
    expect(problems([...PARTICIPANTS.slice(0, -1), voided(last, true)])).toEqual([
      expect.stringContaining('"03-0059-x", randomized last, is not counted'),
    ]);
    expect(problems([...PARTICIPANTS.slice(0, -1), voided(last, false)])).toEqual([]);
  });

  it('with texts that pandas reads as missing, all of which are named', () => {
    expect(
      problems(
        changed({ participantId: 'NA', user: 'null', treatment: 'None', levels: ['n/a', 'nan', '1'] }),
      ),
    ).toEqual([
      'pandas reads "NA" (id) as missing',
      'pandas reads "n/a" (f_site) as missing',
      'pandas reads "nan" (f_sex) as missing',
      'pandas reads "None" (trt) as missing',
      'pandas reads "null" (user) as missing',
    ]);
    expect(problems(changed({ participantId: 'NAN', user: ' NA' }))).toEqual([]);
  });

  it('without a warning where versions of the reference eat the beginning of names of arms', () => {
    const treatments = ['standard', 'A', 'Control', 'tablets', 'x'];
    const eaten = Object.fromEntries(eatenNames({ ...STUDY, treatments }));
    expect(eaten).toEqual({ standard: 'ndard', tablets: 'ets' });
  });
});

describe('the check of the file', () => {
  it('goes on from a file of the reference as the reference went on', () => {
    const { counts, bgState } = readReference(STUDY, REFERENCE_EXPORT);
    let state = bgState;
    for (const { levels, trt, bg_state } of referenceNext()) {
      const indexes = STUDY.factors.map((factor) => factor.levels.indexOf(levels[factor.name] ?? ''));
      const { treatment, slot, draw } = allocate(urnDesignOf(STUDY), counts, indexes, state);
      expect([treatment, draw.bgStateAfter]).toEqual([trt, bg_state]);
      counts.add(indexes, slot);
      state = draw.bgStateAfter;
    }
  });

  it('finds a row that is missing, at another level, on another arm, or with another state', () => {
    const csv = referenceCsv(STUDY, counted(PARTICIPANTS));
    const study = readReference(STUDY, csv);
    const check = (text: string) => checkReference(STUDY, text, study);
    check(csv);
    const lines = csv.split('\n');
    for (const [text, why] of [
      [[...lines.slice(0, 5), ...lines.slice(6)].join('\n'), 'other counts'],
      [csv.replace(',Female,', ',Male,'), 'other counts'],
      [csv.replace('Control', 'Low dose'), 'other counts'],
      [csv.replace(/'state': \d+(?=[^\n]*\n$)/, "'state': 1"), 'does not go on'],
      [csv.replace(/'uinteger': \d+(?=[^\n]*\n$)/, "'uinteger': 1"), 'does not go on'],
    ] as const)
      expect(() => check(text)).toThrow(why);
    expect(() => check(csv.replace('f_sex', 'sex'))).toThrow('no column "f_sex"');
  });
});
