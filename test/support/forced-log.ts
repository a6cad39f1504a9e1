/** A study into which allocations made outside the service were entered in every way, as bundles of each content. */
import { randomUUID } from 'node:crypto';
import type { StudyConfiguration } from '../../events/study.ts';
import type { Written } from './acts.ts';
import { APPROVAL, COOK, closed, DUPAGE, FEMALE, MALE, SEX, SITE } from './amended-log.ts';
import { CONFIGURATION, OPERATOR, SEED } from './facts.ts';
import { type BundledStudy, bundledStudy } from './life-log.ts';

const [FIRST = '', SECOND = '', THIRD = ''] = CONFIGURATION.treatments;

export { FIRST, THIRD };

const UNCOUNTED = { kind: 'policy', name: 'forcedCounts', value: 'not-counted' } as const;

/** One participant more, and one woman more, and nobody else would have been randomized. */
export const LIMITS = { total: 12, levels: [{ factor: SEX, level: FEMALE, max: 6 }] };
export const POLICIES = { stopAtLimit: true, levelCounts: 'as-corrected' } as const;
const FORCED_STUDY: StudyConfiguration = { ...CONFIGURATION, limits: LIMITS, policies: POLICIES };

/** Where each event of the log is. Participants with an F were allocated outside. The key `desk` is limited to Cook County. */
export const AT = {
  registered: 0,
  '001': 1,
  '002': 2,
  /** F1, by `desk`. */
  outage: 3,
  '003': 4,
  paused: 5,
  /** F2, by somebody at the command line, of Dupage County. */
  elsewhere: 6,
  resumed: 7,
  /** F3, a woman and with an arm that is not hers, by `desk`. */
  wrong: 8,
  /** The code of F1. */
  revealed: 9,
  /** F2 is of Cook County. By `clerk`. */
  corrected: 10,
  '004': 11,
  /** F3 becomes F30. By `clerk`. */
  renamed: 12,
  /** As a wrong entry. By `clerk`. */
  voided: 13,
  /** F3, a man, by `desk`. */
  replaced: 14,
  '005': 15,
  /** From here on Dupage County is closed, and entries are not counted. */
  amended: 16,
  /** F4, by `desk`. */
  uncounted: 17,
  /** F4, as a wrong entry, and back again. By `clerk`. */
  voidedToo: 18,
  reinstated: 19,
  '006': 20,
  closed: 21,
  /** F5, by somebody at the command line. */
  late: 22,
  reopened: 23,
  '007': 24,
} as const;

export type ForcedLog = BundledStudy<'nurse' | 'desk' | 'clerk'>;

export function makeForcedLog(folder: string): Promise<ForcedLog> {
  return bundledStudy(folder, { configuration: FORCED_STUDY, seed: SEED }, async (issue, submit) => {
    const occurredAt = new Date().toISOString();
    const actors = {
      nurse: await issue('nurse', ['blinded', 'randomize']),
      desk: await issue('desk', ['force', 'read'], [COOK]),
      clerk: await issue('clerk', ['correct', 'read']),
    };
    const enrol = (participantId: string, ...levels: string[]) =>
      submit(actors.nurse, { type: 'randomize', participantId, levels, user: 'nurse' });
    const by = (user: 'desk' | 'clerk' | 'operator', command: object) =>
      submit(user === 'operator' ? OPERATOR : actors[user], { ...command, user } as Written);
    const force = (participantId: string, treatment: string, ...levels: string[]) => ({
      ...{ type: 'force', participantId, treatment, levels, cause: 'outage', occurredAt },
      note: 'envelope',
    });
    const wrongly = { act: 'AllocationVoided', cause: 'entry', analysis: 'exclude', note: 'read wrongly' };
    const approved = { reason: 'protocol 2', approvals: [APPROVAL] };
    await enrol('001', MALE, COOK);
    await enrol('002', FEMALE, DUPAGE);
    await by('desk', { ...force('F1', FIRST, FEMALE, COOK), idempotencyKey: 'f-1' });
    await enrol('003', FEMALE, COOK);
    await by('operator', { act: 'StudyPaused', reason: 'outage' });
    await by('operator', { ...force('F2', SECOND, MALE, DUPAGE), cause: 'elsewhere' });
    await by('operator', { act: 'StudyResumed', reason: 'it is back' });
    await by('desk', force('F3', FIRST, FEMALE, COOK));
    await by('operator', {
      ...{ act: 'AllocationRevealed', participantId: 'F1', category: 'emergency', reveal: randomUUID() },
      grounds: { reason: 'anaphylaxis' },
    });
    const toCook = { factor: SITE, from: DUPAGE, to: COOK };
    await by('clerk', {
      ...{ act: 'LevelsCorrected', participantId: 'F2', cause: 'source', changes: [toCook] },
      note: 'source document',
    });
    await enrol('004', MALE, COOK);
    await by('clerk', { act: 'ParticipantIdCorrected', participantId: 'F3', to: 'F30', cause: 'entry' });
    await by('clerk', { ...wrongly, participantId: 'F3' });
    await by('desk', { ...force('F3', SECOND, MALE, COOK), replaces: AT.wrong });
    await enrol('005', MALE, COOK);
    await by('operator', { type: 'amend', amendment: 1, changes: [closed(DUPAGE), UNCOUNTED], ...approved });
    await by('desk', { ...force('F4', THIRD, FEMALE, COOK), cause: 'protocol' });
    await by('clerk', { ...wrongly, participantId: 'F4' });
    await by('clerk', { act: 'AllocationReinstated', participantId: 'F4', note: 'it was right' });
    await enrol('006', FEMALE, COOK);
    await by('operator', { act: 'StudyClosed', cause: 'other', reason: 'protocol 3' });
    await by('operator', { ...force('F5', THIRD, MALE, COOK), cause: 'other' });
    await by('operator', { act: 'StudyReopened', ...approved });
    await enrol('007', FEMALE, COOK);
    return actors;
  });
}
