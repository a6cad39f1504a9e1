/** A study in which all kinds of corrections were made, as bundles of each content. */
import { randomUUID } from 'node:crypto';
import type { LevelChange } from '../../events/corrections.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import type { Written } from './acts.ts';
import { CONFIGURATION, OPERATOR, SEED } from './facts.ts';
import { type BundledStudy, bundledStudy } from './life-log.ts';

const [SEX, SITE] = CONFIGURATION.factors.map(({ name }) => name) as [string, string];
const [[MALE, FEMALE], [COOK, DUPAGE]] = CONFIGURATION.factors.map(({ levels }) => levels) as [
  [string, string],
  [string, string],
];
export const change = (factor: 'sex' | 'site', from: string, to: string): LevelChange => ({
  ...{ factor: factor === 'sex' ? SEX : SITE, from, to },
});
export const TO_MALE = change('sex', FEMALE, MALE);
export const TO_DUPAGE = change('site', COOK, DUPAGE);
export const TO_COOK = change('site', DUPAGE, COOK);

/** One participant more, and one more of Cook County, and nobody else would have been randomized. */
const CORRECTED_STUDY: StudyConfiguration = {
  ...CONFIGURATION,
  limits: { total: 7, levels: [{ factor: SITE, level: COOK, max: 6 }] },
  policies: { stopAtLimit: true, levelCounts: 'as-corrected', voidCounts: 'removed' },
};

/** Where each event of the log is. The key `site` is limited to Cook County. */
export const AT = {
  registered: 0,
  '001': 1,
  '002': 2,
  '003': 3,
  '004': 4,
  /** 002 was entered as a woman. By `site`. */
  levels: 5,
  '005': 6,
  /** 001 goes to Dupage County. By `site`. */
  transfer: 7,
  /** 004 is 002. By `clerk`. */
  duplicate: 8,
  '006': 9,
  /** 003 is 004. */
  chained: 10,
  /** 005 becomes 050. By `clerk`. */
  renamed: 11,
  /** The code of 006. By `desk`. */
  revealed: 12,
  /** Both levels of 006. */
  source: 13,
  /** 004 is not 002. By `clerk`. */
  reinstated: 14,
  '007': 15,
  closed: 16,
  /** 050 becomes 051. By `clerk`. */
  again: 17,
  /** 001. By `clerk`. */
  ineligible: 18,
  reopened: 19,
  '008': 20,
} as const;

export type CorrectedLog = BundledStudy<'nurse' | 'site' | 'clerk' | 'desk'>;

export function makeCorrectedLog(folder: string): Promise<CorrectedLog> {
  return bundledStudy(folder, { configuration: CORRECTED_STUDY, seed: SEED }, async (issue, submit) => {
    const actors = {
      nurse: await issue('nurse', ['blinded', 'randomize']),
      site: await issue('site', ['correct', 'blinded'], [COOK]),
      clerk: await issue('clerk', ['correct', 'read']),
      desk: await issue('desk', ['unblind']),
    };
    const enrol = (participantId: string, sex: string, site: string, idempotencyKey?: string) =>
      submit(actors.nurse, {
        ...{ type: 'randomize', participantId, levels: [sex, site], user: 'nurse', idempotencyKey },
      });
    const by = (user: 'site' | 'clerk', command: object, idempotencyKey?: string) =>
      submit(actors[user], { ...command, user, idempotencyKey } as Written);
    const byOperator = (command: object) => submit(OPERATOR, { ...command, user: 'operator' } as Written);
    const note = 'source document';
    await enrol('001', MALE, COOK, 'visit-1');
    await enrol('002', FEMALE, COOK);
    await enrol('003', FEMALE, DUPAGE);
    await enrol('004', MALE, COOK);
    const entry = { act: 'LevelsCorrected', participantId: '002', cause: 'entry', note };
    await by('site', { ...entry, changes: [TO_MALE] });
    await enrol('005', MALE, COOK);
    const transfer = { act: 'LevelsCorrected', participantId: '001', cause: 'transfer', note };
    await by('site', { ...transfer, changes: [TO_DUPAGE] }, 'lc-2');
    const duplicate = { act: 'AllocationVoided', cause: 'duplicate', analysis: 'exclude', note };
    await by('clerk', { ...duplicate, participantId: '004', duplicateOf: '002' }, 'v-1');
    await enrol('006', FEMALE, DUPAGE);
    await byOperator({ ...duplicate, participantId: '003', duplicateOf: '004' });
    await by(
      'clerk',
      { act: 'ParticipantIdCorrected', participantId: '005', to: '050', cause: 'entry' },
      'ic-1',
    );
    await submit(actors.desk, {
      ...{ act: 'AllocationRevealed', participantId: '006', category: 'planned', reveal: randomUUID() },
      ...{ grounds: { reason: 'end of treatment' }, user: 'desk' },
    });
    const source = { act: 'LevelsCorrected', participantId: '006', cause: 'source', note };
    await byOperator({ ...source, changes: [TO_MALE, TO_COOK] });
    await by('clerk', { act: 'AllocationReinstated', participantId: '004', note });
    await enrol('007', FEMALE, COOK);
    await byOperator({ act: 'StudyClosed', cause: 'end', reason: 'end' });
    await by('clerk', { act: 'ParticipantIdCorrected', participantId: '050', to: '051', cause: 'other' });
    await by('clerk', {
      act: 'AllocationVoided',
      participantId: '001',
      cause: 'ineligible',
      analysis: 'keep',
      note,
    });
    const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-28' }];
    await byOperator({ act: 'StudyReopened', reason: 'one more', approvals });
    await enrol('008', MALE, COOK);
    return actors;
  });
}
