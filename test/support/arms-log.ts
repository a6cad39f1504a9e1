/** A study whose arms, ratio, urns and factors were amended in every way, as bundles of each content. */
import type { DesignChange } from '../../events/amendment.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import type { Amend } from '../../src/core/study/commands.ts';
import type { Written } from './acts.ts';
import { APPROVAL, COOK, DUPAGE, FEMALE, MALE, SEX, SITE } from './amended-log.ts';
import { CONFIGURATION, OPERATOR, SEED } from './facts.ts';
import { type BundledStudy, bundledStudy } from './life-log.ts';

const [A = '', B = '', C = ''] = CONFIGURATION.treatments;
/** The arms that are added. */
const [D, E] = ['D', 'E'];

export { A, B, C, D, E };

export const closed = (treatment: string): DesignChange => ({ kind: 'arm-closed', treatment });
export const reopened = (treatment: string): DesignChange => ({ kind: 'arm-reopened', treatment });
export const added = (treatment: string, more = {}): DesignChange => ({
  ...{ kind: 'arm-added', treatment },
  ...more,
});
export const ratio = (...value: number[]): DesignChange => ({ kind: 'ratio', value });
export const urn = (members: object): DesignChange => ({ kind: 'urn', ...members });
export const retired = (factor: string): DesignChange => ({ kind: 'factor-retired', factor });

const ARMS_STUDY: StudyConfiguration = {
  ...CONFIGURATION,
  ...{ ratio: [2, 1, 1], policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } },
};

/** What each amendment changes. */
export const CHANGES = {
  closed: [closed(C)],
  reopened: [reopened(C), urn({ w: 2, alpha: 1 })],
  kept: [added(D)],
  restarted: [added(E, { ratio: 2 })],
  ratio: [ratio(1, 1, 1, 1, 3), closed(B)],
  retired: [retired(SITE)],
  equal: [ratio(1, 1, 1, 1, 1)],
  urn: [urn({ beta: 2, D: 'range' })],
} as const satisfies Record<string, readonly DesignChange[]>;

/** Where each event of the log is. Participants with an F were allocated outside. */
export const AT = {
  registered: 0,
  '001': 1,
  '002': 2,
  '003': 3,
  /** F1, on A. */
  forced: 4,
  '004': 5,
  /** By `manager`. */
  closed: 6,
  '005': 7,
  '006': 8,
  /** F2, on C, as it was before it was closed. */
  before: 9,
  reopened: 10,
  '007': 11,
  /** With the counts that there are. */
  kept: 12,
  '008': 13,
  /** With nobody. */
  restarted: 14,
  '009': 15,
  '010': 16,
  /** 001, of the first epoch, is a woman. */
  early: 17,
  /** F3, on E. */
  forcedAgain: 18,
  '011': 19,
  ratio: 20,
  '012': 21,
  '013': 22,
  retired: 23,
  '014': 24,
  /** 012, who has a level of the retired factor, is a woman. */
  corrected: 25,
  '015': 26,
  equal: 27,
  '016': 28,
  '017': 29,
  urn: 30,
  '018': 31,
} as const;

export type ArmsLog = BundledStudy<'nurse' | 'manager' | 'local'>;

export function makeArmsLog(folder: string): Promise<ArmsLog> {
  return bundledStudy(folder, { configuration: ARMS_STUDY, seed: SEED }, async (issue, submit) => {
    const occurredAt = new Date().toISOString();
    // Closed later than that, by the clock.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const actors = {
      nurse: await issue('nurse', ['blinded', 'randomize']),
      manager: await issue('manager', ['manage']),
      local: await issue('local', ['blinded', 'randomize'], [COOK]),
    };
    const enrol = async (...participants: readonly (readonly [string, ...string[]])[]) => {
      for (const [participantId, ...levels] of participants)
        await submit(actors.nurse, { type: 'randomize', participantId, levels, user: 'nurse' });
    };
    const by = (user: 'manager' | 'operator', command: object) =>
      submit(user === 'operator' ? OPERATOR : actors[user], { ...command, user } as Written);
    let amendment = 0;
    const amend = (name: keyof typeof CHANGES, more: Partial<Amend> = {}) =>
      by(name === 'closed' ? 'manager' : 'operator', {
        ...{ type: 'amend', amendment: ++amendment, changes: CHANGES[name], reason: 'protocol 3' },
        ...{ approvals: [APPROVAL], ...more },
      });
    const force = (participantId: string, treatment: string, more: object = {}) =>
      by('operator', {
        ...{ type: 'force', participantId, treatment, levels: [FEMALE, COOK], cause: 'outage' },
        ...{ occurredAt: new Date().toISOString(), note: 'envelope', ...more },
      });
    const isFemale = (participantId: string) =>
      by('operator', {
        ...{ act: 'LevelsCorrected', cause: 'entry', participantId, note: 'source document' },
        changes: [{ factor: SEX, from: MALE, to: FEMALE }],
      });
    await enrol(['001', MALE, COOK], ['002', FEMALE, DUPAGE], ['003', FEMALE, COOK]);
    await force('F1', A);
    await enrol(['004', FEMALE, COOK]);
    await amend('closed');
    await enrol(['005', MALE, COOK], ['006', FEMALE, COOK]);
    await force('F2', C, { occurredAt });
    await amend('reopened');
    await enrol(['007', FEMALE, COOK]);
    await amend('kept', { history: 'keep' });
    await enrol(['008', FEMALE, COOK]);
    await amend('restarted');
    await enrol(['009', FEMALE, COOK], ['010', MALE, DUPAGE]);
    await isFemale('001');
    await force('F3', E);
    await enrol(['011', FEMALE, COOK]);
    await amend('ratio');
    await enrol(['012', MALE, COOK], ['013', FEMALE, DUPAGE]);
    await amend('retired');
    await enrol(['014', MALE, '']);
    await isFemale('012');
    await enrol(['015', FEMALE, '']);
    await amend('equal');
    await enrol(['016', MALE, ''], ['017', FEMALE, '']);
    await amend('urn', { history: 'restart' });
    await enrol(['018', FEMALE, '']);
    return actors;
  });
}
