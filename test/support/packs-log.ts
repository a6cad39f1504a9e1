/** A study with packs of medication, with all that can happen to them, as bundles of each content. */
import { randomUUID } from 'node:crypto';
import type { Level } from '../../events/study.ts';
import type { Written } from './acts.ts';
import { APPROVAL, CITY, COOK, DUPAGE, FEMALE, MALE, renamed, SITE } from './amended-log.ts';
import { closed } from './arms-log.ts';
import { CONFIGURATION, OPERATOR, SEED } from './facts.ts';
import { type BundledStudy, bundledStudy } from './life-log.ts';

const [A = '', B = '', C = ''] = CONFIGURATION.treatments;

export { A, B, C };

const KEYS = ['0f1e2d3c4b5a69788796a5b4c3d2e1f0', 'ffeeddccbbaa99887766554433221100'] as const;

/** Packs of each of these arms, which are numbered through all arms. */
const packs = (name: string, number: number, arms: readonly string[]) =>
  arms.flatMap((treatment, arm) =>
    Array.from({ length: number }, (_, n) => ({ code: `${name}-${n * arms.length + arm}`, treatment })),
  );

/** The lists of the study, in order. */
export const LISTS = [
  { entries: packs('P', 8, [A, B, C]) },
  { where: { factor: SITE, level: COOK }, entries: packs('Q', 4, [A, B, C]) },
  { where: { factor: SITE, level: DUPAGE }, entries: packs('R', 4, [A, B, C]) },
  { where: { factor: SITE, level: CITY }, entries: packs('S', 3, [A, B]) },
] as const satisfies readonly {
  readonly where?: Level;
  readonly entries: readonly { readonly code: string; readonly treatment: string }[];
}[];

/** The codes of an arm on a list. */
export const codesOf = (list: number, treatment: string): string[] =>
  (LISTS[list - 1]?.entries ?? []).filter((pack) => pack.treatment === treatment).map(({ code }) => code);

/**
 * Where each event of the log is. Participants with an F were allocated outside. The keys `pharmacy` and `doctor` are limited
 * to Cook County, which becomes Chicago.
 */
export const AT = {
  registered: 0,
  /** Without a pack. */
  '001': 1,
  /** For all levels, Cook County and Dupage County. */
  list1: 2,
  '002': 3,
  list2: 4,
  list3: 5,
  '003': 6,
  '004': 7,
  /** The packs of 003, the last one by `pharmacy`. */
  first: 8,
  second: 9,
  third: 10,
  fourth: 11,
  /** Two packs of Cook County. By `pharmacy`. */
  withdrawn: 12,
  /** F1, by `desk`. */
  forced: 13,
  /** By the first pack of 003, and by a pack that nobody has. By `doctor`. */
  revealed: 14,
  loose: 15,
  /** F2, who has the same pack after a wrong entry. */
  wrong: 16,
  voided: 17,
  again: 18,
  /** F3, who has none after a wrong entry. Then the code of that pack is broken. */
  wrongToo: 19,
  voidedToo: 20,
  without: 21,
  nobodys: 22,
  /** Cook County is called Chicago, and the last arm is closed. */
  amended: 23,
  /** All packs of the last arm. */
  recalled: 24,
  '005': 25,
  /** For Chicago. */
  list4: 26,
  '006': 27,
  /** The pack of 006, by `pharmacy`, when the last arm has none. */
  supplied: 28,
  /** 002 is of Dupage County. */
  corrected: 29,
  closed: 30,
  /** The pack of 002, by somebody at the command line. */
  late: 31,
} as const;

export type PacksLog = BundledStudy<'nurse' | 'pharmacy' | 'desk' | 'doctor'>;

export function makePacksLog(folder: string): Promise<PacksLog> {
  return bundledStudy(folder, { configuration: CONFIGURATION, seed: SEED }, async (issue, submit, state) => {
    const occurredAt = new Date().toISOString();
    const actors = {
      nurse: await issue('nurse', ['blinded', 'randomize']),
      pharmacy: await issue('pharmacy', ['supply', 'read'], [COOK]),
      desk: await issue('desk', ['force', 'read']),
      doctor: await issue('doctor', ['unblind', 'blinded'], [COOK]),
    };
    const by = (user: keyof typeof actors | 'operator', command: object) =>
      submit(user === 'operator' ? OPERATOR : actors[user], { ...command, user } as Written);
    const enrol = (participantId: string, ...levels: string[]) =>
      by('nurse', { type: 'randomize', participantId, levels });
    const register = (list: number) =>
      by('operator', { type: 'register-packs', list, key: KEYS[list % 2], ...LISTS[list - 1] });
    const codeOf = (participantId: string) => state().participants.get(participantId)?.pack?.code ?? '';
    const replace = (participantId: string, user: keyof typeof actors | 'operator', cause = 'damaged') =>
      by(user, {
        ...{ act: 'CodeReplaced', participantId, code: codeOf(participantId), cause },
        isSupply: user !== 'nurse',
      });
    const force = (participantId: string, treatment: string, code: string | null, more = {}) =>
      by('desk', {
        ...{ type: 'force', participantId, treatment, code, levels: [FEMALE, COOK], cause: 'outage' },
        ...{ occurredAt, note: 'envelope', ...more },
      });
    const voided = (participantId: string) =>
      by('operator', {
        ...{
          act: 'AllocationVoided',
          cause: 'entry',
          analysis: 'exclude',
          note: 'read wrongly',
          participantId,
        },
      });
    const reveal = (code: string, user: 'doctor' | 'operator') =>
      by(user, {
        ...{ act: 'AllocationRevealed', code, category: 'emergency', reveal: randomUUID() },
        grounds: { reason: 'a child swallowed it' },
      });
    /** Codes of the free packs of an arm for women of a site. */
    const allFree = (treatment: string, site: string) =>
      state()
        .free.for([FEMALE, site], state().design)
        .flatMap((pack) => (pack.treatment === treatment ? [pack.code] : []));
    const free = (treatment: string, site: string) => allFree(treatment, site)[0] ?? '';
    await enrol('001', FEMALE, COOK);
    await register(1);
    await enrol('002', FEMALE, COOK);
    await register(2);
    await register(3);
    await enrol('003', MALE, COOK);
    await enrol('004', FEMALE, DUPAGE);
    const ofThree = codeOf('003');
    for (let n = 0; n < 3; n++) await replace('003', 'nurse');
    await replace('003', 'pharmacy', 'expired');
    const recalled = [codesOf(2, A)[0], codesOf(2, B)[0]];
    await by('pharmacy', { act: 'CodesWithdrawn', codes: recalled, reason: 'the cold chain was broken' });
    await force('F1', A, free(A, COOK));
    await reveal(ofThree, 'doctor');
    await reveal(free(B, COOK), 'doctor');
    const [ofTwo, ofThreeToo] = [free(B, COOK), free(A, COOK)];
    await force('F2', B, ofTwo);
    await voided('F2');
    await force('F2', B, ofTwo, { replaces: AT.wrong });
    await force('F3', A, ofThreeToo);
    await voided('F3');
    await force('F3', A, null, { replaces: AT.wrongToo });
    await reveal(ofThreeToo, 'operator');
    await by('operator', {
      ...{ type: 'amend', amendment: 1, changes: [renamed(SITE, COOK, CITY), closed(C)], history: 'keep' },
      ...{ reason: 'protocol 2', approvals: [APPROVAL] },
    });
    const codes = new Set([CITY, DUPAGE].flatMap((site) => allFree(C, site)));
    await by('operator', { act: 'CodesWithdrawn', codes: [...codes], reason: 'the arm is closed' });
    await enrol('005', MALE, CITY);
    await register(4);
    await enrol('006', FEMALE, CITY);
    await replace('006', 'pharmacy');
    await by('operator', {
      ...{ act: 'LevelsCorrected', cause: 'source', participantId: '002', note: 'source document' },
      changes: [{ factor: SITE, from: CITY, to: DUPAGE }],
    });
    await by('operator', { act: 'StudyClosed', cause: 'target', reason: 'all are in' });
    await replace('002', 'operator', 'lost');
    return actors;
  });
}
