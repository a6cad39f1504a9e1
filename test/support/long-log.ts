/** Makes a log with a long study, without HTTP: in seconds, not minutes. */
import { actorWith, withOpenLog } from './cli-log.ts';
import { CONFIGURATION, OPERATOR, randomize } from './facts.ts';

/** Submitted at once. */
const BATCH = 1000;

/** The name of the study. */
export const LONG = CONFIGURATION.name;
/** Levels that a participant of it can have. */
export const LEVELS = Object.fromEntries(
  CONFIGURATION.factors.map(({ name, levels }) => [name, levels[0] ?? '']),
);

/** @param participants how many there are; their ids count from 0 */
export function makeLongLog(data: string, participants: number): Promise<void> {
  return withOpenLog(data, async (log) => {
    const user = 'site';
    const actor = await actorWith(log, user, ['randomize']);
    await log.studies.register(CONFIGURATION, undefined, OPERATOR);
    const stream = log.studies.streamOf(LONG);
    const enrol = (n: number) => {
      const levels = CONFIGURATION.factors.map((factor, f) => factor.levels[(n >> f) % 2] ?? '');
      return log.studies.submit(stream, randomize(`${n}`, { levels, user }), actor);
    };
    for (let first = 0; first < participants; first += BATCH)
      await Promise.all(
        Array.from({ length: Math.min(BATCH, participants - first) }, (_, i) => enrol(first + i)),
      );
  });
}
