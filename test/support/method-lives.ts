/** Studies that allocate otherwise than from urns, as bundles of each content. */
import type { DesignChange } from '../../events/amendment.ts';
import type {
  Method,
  MethodParameters,
  MinimizationParameters,
  StudyConfiguration,
} from '../../events/study.ts';
import { openTreatments } from '../../projections/design.ts';
import type { Model } from '../../src/core/model/model.ts';
import { Pcg64 } from '../../src/core/random/pcg64.ts';
import type { ImportParticipant, RegisterList, SkipEntries } from '../../src/core/study/commands.ts';
import type { Written } from './acts.ts';
import { APPROVAL, COOK, DUPAGE, FEMALE, MALE, SEX, SITE } from './amended-log.ts';
import { added, closed, ratio, reopened } from './arms-log.ts';
import { type Choices, choicesOf } from './choices.ts';
import { CONFIGURATION, OPERATOR, SEED } from './facts.ts';
import { beginImport, FRESH, IMPORT } from './import-facts.ts';
import { type BundledStudy, bundledStudy } from './life-log.ts';

const { D: _, urnSelection: __, w, alpha, beta, ...WITHOUT_URNS } = CONFIGURATION;
const [A = '', B = '', C = ''] = CONFIGURATION.treatments;

export type MethodLog = BundledStudy<'nurse'>;
export interface MethodStudy {
  readonly configuration: StudyConfiguration;
  readonly parameters?: MethodParameters;
}

export function studyOf(
  method: Method,
  perSlot?: readonly number[],
  more: Partial<StudyConfiguration> = {},
): MethodStudy {
  const configuration = { ...WITHOUT_URNS, ...more, method } as StudyConfiguration;
  return { configuration, ...(perSlot && { parameters: { blocks: { perSlot: [...perSlot] } } }) };
}

export function minimizing(
  minimization: MinimizationParameters,
  more: Partial<StudyConfiguration> = {},
): MethodStudy {
  return { ...studyOf({ name: 'minimization' }, undefined, more), parameters: { minimization } };
}

/** Nobody chooses the seed of a study with lists. */
const seeded = (study: MethodStudy, seed: bigint) => ({ ...study, ...(!isListed(study) && { seed }) });
const isListed = ({ configuration }: MethodStudy) =>
  'method' in configuration && configuration.method.name === 'list';

const enrol = (participantId: string, ...levels: string[]): Written => ({
  ...{ type: 'randomize', participantId, levels, user: 'nurse' },
});
const amend = (amendment: number, changes: readonly DesignChange[], more = {}): Written => ({
  ...{ type: 'amend', user: 'operator', amendment, changes, reason: 'protocol 3', approvals: [APPROVAL] },
  ...more,
});
const force = (participantId: string, treatment: string, ...levels: string[]): Written => ({
  ...{ type: 'force', user: 'operator', participantId, treatment, levels, cause: 'outage' },
  ...{ occurredAt: new Date().toISOString(), note: 'envelope' },
});
const correct = (participantId: string, factor: string, from: string, to: string): Written => ({
  ...{ act: 'LevelsCorrected', user: 'operator', participantId, cause: 'entry', note: 'slip' },
  changes: [{ factor, from, to }],
});
const levelOf = (kind: 'level-added' | 'level-closed' | 'level-reopened', level: string): DesignChange => ({
  ...{ kind, factor: SITE, level },
});

/** At least two packs of each arm. */
const PACKS: Written = {
  ...{ type: 'register-packs', list: 1, key: '0f1e2d3c4b5a69788796a5b4c3d2e1f0' },
  entries: [C, A, B, C, A, B, A, B].map((treatment, i) => ({ code: `P-${i}`, treatment })),
};

/** A history of another system, one participant a second. */
function imported(participants: readonly (readonly [string, ...string[]])[]): Written[] {
  const rows = participants.map(
    ([treatment, ...levels], i): ImportParticipant => ({
      ...{ type: 'import-participant', import: IMPORT, row: i + 1, participantId: `i${i + 1}`, treatment },
      ...{ levels, original: { datetime: `2026-01-01 00:00:0${i}`, user: 'dummy' } },
    }),
  );
  const source = { format: 'csv', rows: rows.length } as const;
  return [
    beginImport(rows, { source, seed: FRESH, seedKnown: false }, 0),
    ...rows,
    { type: 'end-import', import: IMPORT },
  ];
}

const isEnrolment = (written: Written) => 'type' in written && written.type === 'randomize';

/** @param live makes what happens, once the study is registered; `recover`: the log is recovered */
function methodLog(folder: string, study: MethodStudy, live: () => readonly (Written | 'recover')[]) {
  return bundledStudy(folder, seeded(study, SEED), async (issue, submit, _state, recover) => {
    const actors = { nurse: await issue('nurse', ['blinded', 'randomize']) };
    for (const one of live()) {
      if (one === 'recover') await recover();
      else await submit(isEnrolment(one) ? actors.nurse : OPERATOR, one);
    }
    return actors;
  });
}

/** Where each event of a study with blocks of two sizes by site is. */
export const BLOCKS_AT = {
  registered: 0,
  '001': 1,
  '002': 2,
  /** On the first arm, which takes no place. */
  forced: 3,
  '003': 4,
  /** 001 is of the other site, which moves no place. */
  corrected: 5,
  '004': 6,
  /** 003's site, whose block waits. */
  closed: 7,
  '005': 8,
  reopened: 9,
  '006': 10,
  /** The third arm, so all blocks are dropped. */
  armClosed: 11,
  '007': 12,
  recovered: 13,
  /** Of the block of 007. */
  '008': 14,
  ratio: 15,
  '009': 16,
  '010': 17,
} as const;

export const makeBlocksLog = (folder: string): Promise<MethodLog> =>
  methodLog(folder, studyOf({ name: 'blocks', by: [SITE] }, [2, 3]), () => [
    ...[enrol('001', MALE, COOK), enrol('002', FEMALE, COOK), force('F1', A, FEMALE, COOK)],
    ...[enrol('003', MALE, DUPAGE), correct('001', SITE, COOK, DUPAGE), enrol('004', FEMALE, COOK)],
    ...[amend(1, [levelOf('level-closed', DUPAGE)]), enrol('005', MALE, COOK)],
    ...[amend(2, [levelOf('level-reopened', DUPAGE)]), enrol('006', MALE, DUPAGE)],
    ...[amend(3, [closed(C)]), enrol('007', MALE, COOK), 'recover' as const, enrol('008', FEMALE, COOK)],
    ...[amend(4, [ratio(2, 1, 1), reopened(C)]), enrol('009', MALE, COOK), enrol('010', MALE, DUPAGE)],
  ]);

/** Where each event of a study with complete randomization is. */
export const COMPLETE_AT = {
  ...{ registered: 0, begun: 1, ended: 4, packs: 5, n1: 6, armClosed: 7, n2: 8, ratio: 9, n3: 10 },
} as const;

export const makeCompleteLog = (folder: string): Promise<MethodLog> =>
  methodLog(folder, studyOf({ name: 'complete' }), () => [
    ...imported([
      [B, MALE, COOK],
      [C, FEMALE, DUPAGE],
    ]),
    ...[PACKS, enrol('n1', MALE, COOK), amend(1, [closed(C)]), enrol('n2', FEMALE, DUPAGE)],
    ...[amend(2, [ratio(2, 1, 1)]), enrol('n3', FEMALE, COOK)],
  ]);

/** Where each event of a study with minimization is. */
export const MINIMIZED_AT = {
  ...{ registered: 0, '001': 1, '002': 2, forced: 3, '003': 4, corrected: 5, '004': 6 },
  ...{ armClosed: 7, '005': 8, reopened: 9, '006': 10, '007': 11 },
} as const;

export const makeMinimizationLog = (folder: string): Promise<MethodLog> =>
  methodLog(folder, minimizing({ measure: 'range', pThousandths: 800, weights: [1, 2] }), () => [
    ...[enrol('001', MALE, COOK), enrol('002', FEMALE, COOK), force('F1', A, FEMALE, COOK)],
    ...[enrol('003', MALE, DUPAGE), correct('001', SITE, COOK, DUPAGE), enrol('004', FEMALE, COOK)],
    ...[amend(1, [closed(C)]), enrol('005', MALE, COOK), amend(2, [reopened(C)])],
    ...[enrol('006', MALE, DUPAGE), enrol('007', MALE, COOK)],
  ]);

type Entry = RegisterList['entries'][number];
const entryOf = (treatment: string, ...levels: string[]): Entry => ({
  ...(levels.length > 0 && { levels }),
  treatment,
});
/** Digests of the files that lists come from. */
const FILES = ['1'.repeat(64), '2'.repeat(64)] as const;
const list = (number: number, file: string, first: number, entries: readonly Entry[]): Written => ({
  ...{ type: 'register-list', list: number, approvals: [APPROVAL], file, first, entries },
});
const skip = (...skipped: SkipEntries['skipped']): Written => ({
  ...{ type: 'skip-entries', reason: 'told by the sites', skipped },
});

/** Where each event of a study with lists by site is. The comments say which entry was used. */
export const LIST_AT = {
  ...{ registered: 0, first: 1 },
  ...{ begun: 2, ended: 5 },
  /** The first entry of each site. */
  skipped: 6,
  /** 3 of the first list. */
  '001': 7,
  forced: 8,
  /** 4 of the first list. */
  '002': 9,
  corrected: 10,
  /** Of the same file. */
  second: 11,
  /** 5 of the first list. */
  '003': 12,
  recovered: 13,
  /** Nothing. */
  none: 14,
  /** 7 of the first list. */
  '004': 15,
  /** 1 of the second list. */
  '005': 16,
  /** The third arm, so all entries are void. */
  armClosed: 17,
  /** Of another file. */
  third: 18,
  /** 1 of the third list. */
  '006': 19,
  /** The site of 006. */
  renamed: 20,
  /** 2 of the third list. */
  '007': 21,
} as const;

export const makeListLog = (folder: string): Promise<MethodLog> =>
  methodLog(folder, studyOf({ name: 'list', by: [SITE] }), () => [
    list(1, FILES[0], 1, [
      ...[entryOf(A, COOK), entryOf(B, DUPAGE), entryOf(B, COOK), entryOf(C, DUPAGE)],
      ...[entryOf(C, COOK), entryOf(A, DUPAGE), entryOf(A, COOK)],
    ]),
    ...imported([
      [B, MALE, COOK],
      [C, FEMALE, DUPAGE],
    ]),
    skip({ levels: [COOK], count: 1 }, { levels: [DUPAGE], count: 1 }),
    ...[enrol('001', MALE, COOK), force('F1', A, FEMALE, COOK), enrol('002', FEMALE, DUPAGE)],
    correct('001', SITE, COOK, DUPAGE),
    list(2, FILES[0], 8, [entryOf(B, COOK), entryOf(B, DUPAGE), entryOf(A, DUPAGE)]),
    ...[enrol('003', MALE, COOK), 'recover' as const, skip()],
    ...[enrol('004', FEMALE, COOK), enrol('005', FEMALE, COOK), amend(1, [closed(C)])],
    list(3, FILES[1], 1, [entryOf(B, COOK), entryOf(A, COOK), entryOf(A, DUPAGE)]),
    enrol('006', MALE, COOK),
    amend(2, [{ kind: 'level-renamed', factor: SITE, level: COOK, to: 'x' }]),
    enrol('007', MALE, 'x'),
  ]);

/** An urn, for what belongs to the other methods alone. */
export const makeUrnLog = (folder: string): Promise<MethodLog> =>
  methodLog(folder, { configuration: CONFIGURATION }, () => [enrol('001', MALE, COOK)]);

const STEPS = 45;

/** Any life of such a study. Many of the steps are refused. @param seed of the choices, and of the study */
export function makeMethodLife(folder: string, study: MethodStudy, seed: number): Promise<MethodLog> {
  const choices = choicesOf(seed);
  return bundledStudy(folder, seeded(study, BigInt(seed)), async (issue, submit, state, recover) => {
    const actors = { nurse: await issue('nurse', ['blinded', 'randomize']) };
    const attempt = (written: Written) =>
      submit(isEnrolment(written) ? actors.nurse : OPERATOR, written).catch(() => undefined);
    if (choices.chance(0.5))
      for (const one of imported([
        [A, MALE, COOK],
        [C, FEMALE, DUPAGE],
      ]))
        await submit(OPERATOR, one);
    for (let n = 1; n <= STEPS; n++) {
      const { design, participants } = state();
      if (isListed(study)) for (const one of listing(state(), n, choices)) await attempt(one);
      const levels = design.factors.map((factor) => (factor.isRetired ? '' : choices.pick(factor.levels)));
      if (choices.chance(0.7)) await attempt(enrol(`p${n}`, ...levels));
      else if (choices.chance(0.1)) await recover();
      else if (choices.chance(0.5)) {
        const who = choices.pick([...participants.all(), undefined])?.participantId ?? 'nobody';
        await attempt(choices.pick(happenings(n, who, choices.pick(openTreatments(design)), levels)));
      } else {
        const history = choices.pick(['keep', 'restart', undefined] as const);
        await attempt(amend(design.amendment + 1, [change(n, choices)], { history }));
      }
    }
    return actors;
  });
}

function happenings(n: number, participantId: string, arm: string, levels: readonly string[]): Written[] {
  const one = { user: 'operator', participantId, note: 'slip' };
  return [
    force(`F${n}`, arm, ...levels),
    correct(participantId, SEX, MALE, FEMALE),
    correct(participantId, SITE, COOK, DUPAGE),
    { ...one, act: 'AllocationVoided', cause: 'duplicate', analysis: 'exclude' },
    { ...one, act: 'AllocationVoided', cause: 'entry', analysis: 'exclude' },
    { ...one, act: 'AllocationReinstated' },
  ];
}

/** A list now and then, and so that there is one. A skip where it is owed, and now and then where it is not. */
function listing({ design, entries, methodDesign }: Model, n: number, choices: Choices): Written[] {
  const { method } = design;
  if (method.name !== 'list' || methodDesign.method !== 'list') return [];
  const levelsOfBy = methodDesign.by.map((factor) => design.factors[factor]?.levels ?? []);
  const stratum = () => levelsOfBy.map((levels) => choices.pick(levels));
  const written: Written[] = [];
  if (entries.leftInAll === 0 || choices.chance(0.15)) {
    const file = choices.pick([...FILES, `${n}`.padStart(64, '0')]);
    const many = choices.between(1, 12);
    const arms = openTreatments(design);
    const rows = Array.from({ length: many }, () => entryOf(choices.pick(arms), ...stratum()));
    written.push(list(entries.lists + 1, file, entries.rowsOf(file) + 1, rows));
  }
  if (choices.chance(entries.isSkipOwed ? 0.5 : 0.05)) {
    const strata = Array.from({ length: choices.between(0, 2) }, stratum);
    const count = choices.between(1, 2);
    written.push(skip(...strata.map((levels) => ({ ...(levels.length > 0 && { levels }), count }))), skip());
  }
  return written;
}

function change(n: number, choices: Choices): DesignChange {
  const arm = choices.pick([A, B, C, 'D']);
  const site = choices.pick([COOK, DUPAGE, 'a', 'b']);
  return choices.pick<DesignChange>([
    ...[closed(arm), reopened(arm), added('D'), ratio(2, 1, 1), ratio(1, 1, 1)],
    ...[levelOf('level-closed', site), levelOf('level-reopened', site), levelOf('level-added', site)],
    { kind: 'level-renamed', factor: SITE, level: site, to: `${site} ${n}` },
    { kind: 'factor-retired', factor: SEX },
    { kind: 'policy', name: 'voidCounts', value: 'removed' },
    { kind: 'policy', name: 'forcedCounts', value: 'not-counted' },
  ]);
}

/** As if the size of the block had not been drawn. */
export function withoutLot(pick: { bgStateBefore: never; bgStateAfter: unknown; uniform53: number }): void {
  const generator = Pcg64.restore(pick.bgStateBefore);
  pick.uniform53 = generator.nextUniform53();
  pick.bgStateAfter = generator.snapshot();
}
