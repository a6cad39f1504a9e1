/** Makes a log with a long study, without HTTP: in seconds, not minutes. */
import { openLog } from '../../src/service/open/open-log.ts';
import { CONFIGURATION, OPERATOR, randomize } from './facts.ts';

type Log = Awaited<ReturnType<typeof openLog>>;
type Grant = Omit<Parameters<Log['keys']['issue']>[0], 'user'>;

/** Submitted at once. */
const BATCH = 1000;

export interface LongLog<N extends string> {
  /** API keys, by the names of their users. */
  readonly keys: Record<N, string>;
  /** Of a study by name, whether or not it is registered yet. */
  readonly streamOf: (study: string) => string;
}

/**
 * Issues keys and registers the study of `CONFIGURATION` with a number of participants, whose ids count from 0.
 * @param by the user whose key randomizes them
 */
export async function makeLongLog<N extends string>(
  data: string,
  grants: Readonly<Record<N, Grant>>,
  { participants, by }: { participants: number; by: NoInfer<N> },
): Promise<LongLog<N>> {
  const log = await openLog({ data }, OPERATOR);
  try {
    await log.rebuild();
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
    for (let first = 0; first < participants; first += BATCH)
      await Promise.all(
        Array.from({ length: Math.min(BATCH, participants - first) }, (_, i) => {
          const levels = CONFIGURATION.factors.map(
            (factor, f) => factor.levels[((first + i) >> f) % 2] ?? '',
          );
          return log.studies.submit(stream, randomize(`${first + i}`, { levels, user: by }), actor);
        }),
      );
    return { keys, streamOf: (study) => log.studies.streamOf(study) };
  } finally {
    await log.close();
  }
}
