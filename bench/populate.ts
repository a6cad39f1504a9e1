/** Fills a log without HTTP: the service's own write path, on the service's own store. */
import { randomBytes } from 'node:crypto';
import type { Scope } from '../events/access.ts';
import type { Actor } from '../events/record.ts';
import { MAX_ENTRIES } from '../src/core/model/packs.ts';
import { type LogSettings, type OpenLog, openLog } from '../src/service/open/open-log.ts';
import { type OfMethod, randomLevels, STUDY } from './study.ts';

const CLI: Actor = { cli: true, user: 'bench' };
/** Commands submitted at a time. */
const SUBMITTED = 1000;

/**
 * Adds participants to the study in a log, creating and registering both if necessary, and issues a key.
 * @param others more studies to register
 */
export async function populate(
  settings: LogSettings,
  participants: number,
  scopes: readonly Scope[],
  others: readonly OfMethod[] = [],
): Promise<string> {
  const log = await openLog(settings, CLI);
  try {
    await log.rebuild();
    await log.studies.register(STUDY, undefined, CLI);
    for (const { name, configuration, parameters } of others)
      await log.studies.register({ ...configuration, name }, undefined, CLI, parameters);
    const stream = log.studies.streamOf(STUDY.name);
    const first = log.runner.revision(stream);
    // The same as for participants over HTTP.
    const actor = participants > 0 ? await randomizer(log) : CLI;
    for (let done = 0; done < participants; done += SUBMITTED) {
      const commands = Array.from({ length: Math.min(SUBMITTED, participants - done) }, (_, i) => ({
        type: 'randomize' as const,
        participantId: `populated-${first + done + i}`,
        levels: randomLevels(),
        user: 'bench',
      }));
      await Promise.all(commands.map((command) => log.studies.submit(stream, command, actor)));
    }
    const issued = await log.keys.issue({ user: 'bench', scopes }, CLI);
    if ('refused' in issued) throw new Error(issued.refused);
    return issued.apiKey;
  } finally {
    await log.close();
  }
}

/** Registers packs of every arm, in turn, that anybody can get. */
export async function addPacks(settings: LogSettings, number: number): Promise<void> {
  const log = await openLog(settings, CLI);
  try {
    await log.rebuild();
    const stream = log.studies.streamOf(STUDY.name);
    const packs = packsOf(number);
    for (let list = 1; packs.length > 0; list++) {
      const entries = packs.splice(0, MAX_ENTRIES);
      const command = {
        type: 'register-packs',
        list,
        key: randomBytes(16).toString('hex'),
        entries,
      } as const;
      await log.studies.submit(stream, command, CLI);
    }
  } finally {
    await log.close();
  }
}

/** The same number of each arm. */
export function packsOf(number: number): { readonly code: string; readonly treatment: string }[] {
  const { treatments } = STUDY;
  return Array.from({ length: number }, (_, i) => ({
    code: `P-${100_000 + i}`,
    treatment: treatments[i % treatments.length] ?? '',
  }));
}

async function randomizer({ keys, runner }: OpenLog): Promise<Actor> {
  const issued = await keys.issue({ user: 'bench', scopes: ['randomize'] }, CLI);
  if ('refused' in issued) throw new Error(issued.refused);
  return { keyId: issued.keyId, user: 'bench', accessRevision: runner.revision('access') };
}
