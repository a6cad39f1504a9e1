/** Lists of packs, registered in the log of a data folder; a service may be running on it. */
import { randomBytes } from 'node:crypto';
import type { RegisterPacks } from '../../src/core/study/commands.ts';
import type { OpenLog } from '../../src/service/open/open-log.ts';
import { withOpenLog } from './cli-log.ts';
import { OPERATOR } from './facts.ts';

export type PackList = Pick<RegisterPacks, 'where' | 'entries'> & {
  /** Default: a new one. */
  readonly key?: string;
};

/** @throws Error if the study does not take one of them */
export const registerPacks = (data: string, study: string, lists: readonly PackList[]): Promise<void> =>
  withOpenLog(data, (log) => registerPacksIn(log, study, lists));

/** In the log of a service in this process. @throws Error likewise */
export async function registerPacksIn(
  { studies }: Pick<OpenLog, 'studies'>,
  study: string,
  lists: readonly PackList[],
): Promise<void> {
  for (const [i, list] of lists.entries()) {
    const key = randomBytes(16).toString('hex');
    const command = { key, ...list, type: 'register-packs', list: i + 1 } as const;
    const { outcome } = await studies.submit(studies.streamOf(study), command, OPERATOR);
    if (outcome.type !== 'codes-registered') throw new Error(JSON.stringify(outcome));
  }
}
