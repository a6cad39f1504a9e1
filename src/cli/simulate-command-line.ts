/** The command line that repeats a simulation, quoted for a shell. */
import type { SimulationPlan } from '../statistics/simulation/plan.ts';
import { DEFAULT_DATA } from './options.ts';
import type { SimulateOptions } from './simulate-plan.ts';
import { DEFAULT_STUDIES_FILE } from './studies-file.ts';

/** Leaves out what does not affect the figures: threads, and where the result is written. */
export function commandLine(options: SimulateOptions, plan: SimulationPlan): string {
  const {
    studies = DEFAULT_STUDIES_FILE,
    levels,
    profiles,
    like,
    independent,
    siteFactor,
    at,
    exact,
    data,
  } = options;
  const given = (name: string, value: string | undefined) => (value === undefined ? [] : [name, value]);
  const words = [
    ...['urn', 'simulate', '--studies', studies, '--study', plan.study],
    ...['--participants', String(plan.participants)],
    ...(exact ? ['--exact'] : ['--reps', String(plan.reps), '--seed', String(plan.seed)]),
    ...given('--levels', levels),
    ...given('--profiles', profiles),
    ...given('--like', like),
    // Where the log is, unless it is in the usual place. The URL of a store may hold a password, so it is left out.
    ...(like === undefined || data === DEFAULT_DATA ? [] : ['--data', data]),
    ...(independent ? ['--independent'] : []),
    ...plan.comparators.flatMap(({ name }) => ['--against', name]),
    ...given('--site-factor', siteFactor),
    ...given('--at', at),
  ];
  return words.map(quoted).join(' ');
}

export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
