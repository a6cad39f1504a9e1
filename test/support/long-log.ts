/** Makes a log with a long study, without HTTP: in seconds, not minutes. */
import type { OpenLog } from '../../src/service/open/open-log.ts';
import { withOpenLog } from './cli-log.ts';
import { CONFIGURATION, OPERATOR, randomize } from './facts.ts';

type Grant = Omit<Parameters<OpenLog['keys']['issue']>[0], 'user'>;

/** Submitted at once. */
const BATCH = 1000;

/**
 * Issues keys and registers the study of `CONFIGURATION` with a number of participants, whose ids count from 0.
 * It also gives the stream of any study by name, whether or not it is registered yet.
 * @param by the user whose key randomizes them
 */
export function makeLongLog<N extends string>(
  data: string,
  grants: Readonly<Record<N, Grant>>,
  { participants, by }: { participants: number; by: NoInfer<N> },
) {
  return withOpenLog(data, async (log) => {
    const keys = {} as Record<N, string>;
    let keyId = '';
    for (const [user, grant] of Object.entries<Grant>(grants)) {
      const issued = await log.keys.issue({ ...grant, user }, OPERATOR);
      if ('refused' in issued) throw new Error(issued.refused);
      keys[user as N] = issued.apiKey;
      if (user === by) keyId = issued.keyId;
    }
    const actor = { keyId, user: by, accessRevision: log.runner.revision('access') };
    await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    const stream = log.studies.streamOf(CONFIGURATION.name);
    const enrol = (n: number) => {
      const levels = CONFIGURATION.factors.map((factor, f) => factor.levels[(n >> f) % 2] ?? '');
      return log.studies.submit(stream, randomize(`${n}`, { levels, user: by }), actor);
    };
    for (let first = 0; first < participants; first += BATCH)
      await Promise.all(
        Array.from({ length: Math.min(BATCH, participants - first) }, (_, i) => enrol(first + i)),
      );
    return { keys, streamOf: (study: string) => log.studies.streamOf(study) };
  });
}
