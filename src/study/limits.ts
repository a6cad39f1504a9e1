/** The limits of a study: how many participants it takes, in all and with a level. */
import type { StudyConfiguration } from '../../events/study.ts';
import { currentLevels, type Enrolled, fillsPlace } from '../../projections/enrolled.ts';
import type { FullLimit } from './commands.ts';

type Limited = Pick<StudyConfiguration, 'limits' | 'policies' | 'factors'>;

/** How many participants each limit counts, in the order of `limitsOf`. Empty if the limits stop nobody. */
export type Filled = readonly number[];

/** The limits that stop participants, in a fixed order. */
function limitsOf({ limits, policies }: Limited): readonly FullLimit[] {
  if (!limits || !policies?.stopAtLimit) return [];
  const { total, levels = [] } = limits;
  return [
    ...(total === undefined ? [] : [{ max: total }]),
    ...levels.map(({ factor, level, max }) => ({ max, of: { factor, level } })),
  ];
}

export function noneFilled(configuration: Limited): Filled {
  return limitsOf(configuration).map(() => 0);
}

/**
 * @param before the participant before an event; undefined if it enrols them
 * @param after the same participant after it
 */
export function filledAfter(
  filled: Filled,
  configuration: Limited,
  before: Enrolled | undefined,
  after: Enrolled,
): Filled {
  if (filled.length === 0) return filled;
  const countedBy = (limit: FullLimit, participant: Enrolled | undefined) =>
    participant && fillsPlace(participant)
      ? Number(appliesTo(limit, configuration, currentLevels(participant)))
      : 0;
  return limitsOf(configuration).map(
    (limit, i) => (filled[i] ?? 0) + countedBy(limit, after) - countedBy(limit, before),
  );
}

/** The limit that keeps a participant with these levels out; undefined if there is none. */
export function fullLimit(
  filled: Filled,
  configuration: Limited,
  levels: readonly string[],
): FullLimit | undefined {
  if (filled.length === 0) return undefined;
  return limitsOf(configuration).find(
    (limit, i) => appliesTo(limit, configuration, levels) && (filled[i] ?? 0) >= limit.max,
  );
}

function appliesTo({ of }: FullLimit, { factors }: Limited, levels: readonly string[]): boolean {
  if (!of) return true;
  return levels[factors.findIndex(({ name }) => name === of.factor)] === of.level;
}
