/** A study with everything that can happen after its allocations, as bundles of each content. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Scope } from '../../events/access.ts';
import { CONTENTS, type Content } from '../../events/content.ts';
import type { Actor } from '../../events/record.ts';
import type { MethodParameters, StudyConfiguration } from '../../events/study.ts';
import type { Model } from '../../src/core/model/model.ts';
import { studyState } from '../../src/core/study/state.ts';
import { writeBundle } from '../../src/evidence/bundle/bundle.ts';
import { openLog } from '../../src/service/open/open-log.ts';
import { asCommand, type Written } from './acts.ts';
import { CONFIGURATION, OPERATOR } from './facts.ts';

const [SEX, SITE] = CONFIGURATION.factors;
const COOK = SITE?.levels[0] ?? '';
const DUPAGE = SITE?.levels[1] ?? '';
const APPROVALS = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-28', reference: 'Minutes 3' }];
const REASON = { reason: 'anaphylaxis, ICU', requestedBy: 'Dr. K.' };

export interface BundledStudy<User extends string> {
  readonly stream: string;
  /** Bundles, by content. */
  readonly files: Readonly<Record<Content, string>>;
  /** By user. In `access`, the keys are in this order. */
  readonly actors: Readonly<Record<User, Actor>>;
}
export type LifeLog = BundledStudy<'nurse' | 'manager' | 'desk'>;

/** Where each event of the log is. */
export const AT = {
  registered: 0,
  /** Participants 001 and 003 are of the site to which the key `desk` is limited. */
  '001': 1,
  '002': 2,
  /** By the key of `manager`. */
  paused: 3,
  emergency: 4,
  /** By somebody at the command line. */
  resumed: 5,
  '003': 6,
  closed: 7,
  /** Of 003, recorded late. */
  late: 8,
  /** Says that the emergency's code-break was a mistake. */
  mistake: 9,
  /** About 003. */
  envelope: 10,
  reopened: 11,
  '004': 12,
  /** Of 002, by somebody at the command line. */
  monitoring: 13,
} as const;

type Issue = (user: string, scopes: Scope[], levels?: string[]) => Promise<Actor>;
/** Throws if the command wrote no event. */
type Submit = (actor: Actor, command: Written) => Promise<void>;
/** The study as it is now. */
type State = () => Model;
/** Gives the study a new generator, as after a loss of nothing that is known. */
type Recover = () => Promise<void>;

/**
 * A study in a log in memory.
 * @param live gives keys, which are in `access` in that order, and writes events after the registration
 */
export async function bundledStudy<User extends string>(
  folder: string,
  study: { configuration: StudyConfiguration; seed?: bigint; parameters?: MethodParameters },
  live: (
    issue: Issue,
    submit: Submit,
    state: State,
    recover: Recover,
  ) => Promise<Readonly<Record<User, Actor>>>,
): Promise<BundledStudy<User>> {
  const log = await openLog({ data: folder, store: 'memory:' }, OPERATOR);
  try {
    await log.rebuild();
    const { studies, store, identity, gate, keys } = log;
    const { configuration, seed, parameters } = study;
    await studies.register(configuration, seed, OPERATOR, parameters);
    const stream = studies.streamOf(configuration.name);
    const issue: Issue = async (user, scopes, levels) => {
      const where = levels && [{ factor: SITE?.name ?? '', levels }];
      const issued = await keys.issue({ user, scopes, where }, OPERATOR);
      if ('refused' in issued) throw new Error(issued.refused);
      return { keyId: issued.keyId, user, accessRevision: log.runner.revision('access') };
    };
    const submit: Submit = async (actor, written) => {
      const command = asCommand(written);
      const before = log.runner.revision(stream);
      const { outcome } = await studies.submit(stream, command, actor);
      const name = command.type === 'act' ? command.act : command.type;
      if (log.runner.revision(stream) === before) throw new Error(`${name}: ${outcome.type}`);
    };
    const state: State = () => log.runner.state(studyState, stream) as Model;
    const recover: Recover = async () => {
      await log.recover(log.findLoss([]), 'the disk was lost', OPERATOR);
    };
    const actors = await live(issue, submit, state, recover);
    const files = {} as Record<Content, string>;
    for (const content of CONTENTS) {
      files[content] = join(folder, `${content}.zip`);
      await writeBundle({
        ...{ store, identity, gate, stream, content, out: files[content] },
        ...{ lastCheckpoints: undefined, checkpoints: [], version: 'test' },
      });
    }
    return { stream, files, actors };
  } finally {
    await log.close();
  }
}

/** Every event of a study's life but corrections (corrected-log.ts). */
export function makeLifeLog(folder: string): Promise<LifeLog> {
  return bundledStudy(folder, { configuration: CONFIGURATION }, async (issue, submit) => {
    const actors = {
      nurse: await issue('nurse', ['blinded', 'randomize']),
      manager: await issue('manager', ['manage']),
      desk: await issue('desk', ['unblind', 'blinded'], [COOK]),
    };
    const [manager, desk, operator] = [{ user: 'manager' }, { user: 'desk' }, { user: 'operator' }] as const;
    const enrol = (participantId: string, site: string, idempotencyKey?: string) =>
      submit(actors.nurse, {
        ...{ type: 'randomize', participantId, user: 'nurse', idempotencyKey },
        levels: [SEX?.levels[0] ?? '', site],
      });
    const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
    await enrol('001', COOK, 'visit-1');
    await enrol('002', DUPAGE);
    await submit(actors.manager, {
      ...{ act: 'StudyPaused', reason: 'data review', ...manager, idempotencyKey: 'pause-1' },
    });
    await submit(actors.desk, {
      ...{ act: 'AllocationRevealed', participantId: '001', category: 'emergency', grounds: REASON },
      ...{ reveal: randomUUID(), ...desk, idempotencyKey: 'er-1' },
    });
    await submit(OPERATOR, { act: 'StudyResumed', reason: 'review done', ...operator });
    await enrol('003', COOK);
    await submit(actors.manager, {
      ...{ act: 'StudyClosed', cause: 'target', reason: '3 randomized', approvals: APPROVALS },
      ...{ ...manager, idempotencyKey: 'close-1' },
    });
    await submit(actors.desk, {
      ...{ act: 'AllocationRevealed', participantId: '003', category: 'emergency', grounds: REASON },
      ...{ reveal: randomUUID(), shownAt: ago(500), ...desk },
    });
    await submit(OPERATOR, {
      ...{ act: 'UnblindingReported', participantId: '001', how: 'disclosure', inadvertent: true },
      ...{ occurredAt: ago(1000), revealedAt: AT.emergency, grounds: { reason: 'wrong id' }, ...operator },
    });
    await submit(actors.desk, {
      ...{ act: 'UnblindingReported', participantId: '003', how: 'envelope', inadvertent: false },
      ...{ occurredAt: ago(60_000), grounds: REASON, ...desk },
    });
    await submit(OPERATOR, {
      ...{ act: 'StudyReopened', reason: 'target raised', approvals: APPROVALS },
      ...{ protocol: { version: '3.0', date: '2026-02-27' }, ...operator },
    });
    await enrol('004', DUPAGE);
    await submit(OPERATOR, {
      ...{ act: 'AllocationRevealed', participantId: '002', category: 'monitoring', grounds: REASON },
      ...{ reveal: randomUUID(), ...operator },
    });
    return actors;
  });
}
