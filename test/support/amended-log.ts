/** A study whose design was amended in every way, as bundles of each content. */
import type { DesignChange } from '../../events/amendment.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import type { Amend } from '../../src/core/study/commands.ts';
import type { Written } from './acts.ts';
import { CONFIGURATION, OPERATOR, SEED } from './facts.ts';
import { type BundledStudy, bundledStudy } from './life-log.ts';

const [SEX, SITE] = CONFIGURATION.factors.map(({ name }) => name) as [string, string];
const [[MALE, FEMALE], [COOK, DUPAGE]] = CONFIGURATION.factors.map(({ levels }) => levels) as [
  [string, string],
  [string, string],
];
/** The names that `MALE` and `COOK` get, and the level that is added. */
const [MAN, CITY, MCLEAN] = ['Man', '11-Chicago', '50-Mclean County'];

export { CITY, COOK, DUPAGE, FEMALE, MALE, MAN, MCLEAN, SEX, SITE };

const at = (factor: string, level: string) => ({ factor, level });
export const added = (level: string): DesignChange => ({ kind: 'level-added', ...at(SITE, level) });
export const closed = (level: string): DesignChange => ({ kind: 'level-closed', ...at(SITE, level) });
export const reopened = (level: string): DesignChange => ({ kind: 'level-reopened', ...at(SITE, level) });
export const renamed = (factor: string, level: string, to: string, more = {}): DesignChange => ({
  ...{ kind: 'level-renamed', ...at(factor, level), to },
  ...more,
});
export const limited = (total: number, city: number, dupage: number): DesignChange => {
  const levels = [
    { ...at(SITE, CITY), max: city },
    { ...at(SITE, DUPAGE), max: dupage },
  ];
  return { kind: 'limits', value: { total, levels } };
};
export const APPROVAL = { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-28' };

/** Its limit stops nobody before an amendment says that it does. */
const AMENDED_STUDY: StudyConfiguration = {
  ...CONFIGURATION,
  idPattern: '[0-9]{3}',
  limits: { levels: [{ ...at(SITE, COOK), max: 2 }] },
};

/** What each amendment changes. */
export const CHANGES = {
  sites: [added(MCLEAN), closed(DUPAGE)],
  names: [renamed(SITE, COOK, CITY, { alias: true }), renamed(SEX, MALE, MAN)],
  rules: [
    limited(7, 3, 2),
    { kind: 'id-pattern', value: '[0-9]{3}-[0-9]{2}' },
    { kind: 'target', value: 7 },
    { kind: 'blinding', value: 'blinded' },
    { kind: 'policy', name: 'stopAtLimit', value: true },
    { kind: 'policy', name: 'levelCounts', value: 'as-corrected' },
    { kind: 'policy', name: 'voidCounts', value: 'removed' },
  ],
  again: [reopened(DUPAGE), renamed(SEX, MAN, MALE)],
  protocol: [],
} as const satisfies Record<string, readonly DesignChange[]>;

/** Where each event of the log is. The key `site` is limited to Cook County, by the name that it was registered with. */
export const AT = {
  registered: 0,
  '001': 1,
  '002': 2,
  '003': 3,
  /** By `manager`. */
  sites: 4,
  '004': 5,
  names: 6,
  '005': 7,
  /** 001 is a woman. By `site`. */
  corrected: 8,
  rules: 9,
  '006': 10,
  /** 002 is a man of Dupage County, which is closed. */
  source: 11,
  /** 003 was never enrolled. */
  voided: 12,
  closed: 13,
  /** By `manager`, while the study is closed. */
  again: 14,
  reopened: 15,
  '007': 16,
  /** 002 is a woman: what was corrected before a renaming. */
  undone: 17,
  /** Nobody else would be randomized, in all and in the city. */
  '008': 18,
  protocol: 19,
} as const;

export type AmendedLog = BundledStudy<'nurse' | 'manager' | 'site'>;

export function makeAmendedLog(folder: string): Promise<AmendedLog> {
  return bundledStudy(folder, { configuration: AMENDED_STUDY, seed: SEED }, async (issue, submit) => {
    const actors = {
      nurse: await issue('nurse', ['blinded', 'randomize']),
      manager: await issue('manager', ['manage']),
      site: await issue('site', ['correct', 'blinded'], [COOK]),
    };
    const enrol = (participantId: string, ...levels: string[]) =>
      submit(actors.nurse, { type: 'randomize', participantId, levels, user: 'nurse' });
    const by = (user: 'manager' | 'site' | 'operator', command: object) =>
      submit(user === 'operator' ? OPERATOR : actors[user], { ...command, user } as Written);
    const amend = (name: keyof typeof CHANGES, amendment: number, more: Partial<Amend> = {}) =>
      by(name === 'sites' || name === 'again' ? 'manager' : 'operator', {
        ...{ type: 'amend', amendment, changes: CHANGES[name], reason: 'protocol 3' },
        ...{ approvals: [APPROVAL], ...more },
      });
    await enrol('001', MALE, COOK);
    await enrol('002', FEMALE, COOK);
    await enrol('003', FEMALE, DUPAGE);
    await amend('sites', 1, { idempotencyKey: 'amendment-1' });
    await enrol('004', MALE, MCLEAN);
    await amend('names', 2);
    await enrol('005', MAN, CITY);
    const correct = { act: 'LevelsCorrected', cause: 'entry', note: 'source document' };
    const toFemale = { factor: SEX, from: MAN, to: FEMALE };
    await by('site', { ...correct, participantId: '001', changes: [toFemale] });
    await amend('rules', 3);
    await enrol('006-01', FEMALE, MCLEAN);
    await by('operator', {
      ...{ ...correct, participantId: '002' },
      changes: [
        { factor: SEX, from: FEMALE, to: MAN },
        { factor: SITE, from: CITY, to: DUPAGE },
      ],
    });
    await by('operator', {
      ...{ act: 'AllocationVoided', participantId: '003', cause: 'never-enrolled', analysis: 'exclude' },
      note: 'screening failure',
    });
    await by('operator', { act: 'StudyClosed', cause: 'other', reason: 'protocol 4' });
    await amend('again', 4);
    await by('operator', { act: 'StudyReopened', reason: 'protocol 4', approvals: [APPROVAL] });
    await enrol('007-01', MALE, DUPAGE);
    await by('operator', {
      ...{ ...correct, participantId: '002' },
      changes: [{ factor: SEX, from: MALE, to: FEMALE }],
    });
    await enrol('008-01', FEMALE, CITY);
    await amend('protocol', 5, { protocol: { version: '4.0', date: '2026-03-01' } });
    return actors;
  });
}
