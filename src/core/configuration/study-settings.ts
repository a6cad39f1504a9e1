/** The settings of a study in the studies file: what each may be, and what is said if it is something else. */

import type { Protocol } from '../../../events/define.ts';
import {
  ImbalanceMeasure,
  MAX_WEIGHT,
  type Policies,
  type StudyConfiguration,
} from '../../../events/study.ts';
import { nameProblem, quote } from '../../base/text.ts';
import { isDay } from '../../base/time.ts';
import { MAX_PATTERN_LENGTH } from '../model/linear-pattern.ts';
import { hinted, type Problem } from './finding.ts';
import {
  anyMapping,
  choice,
  count,
  issuesIn,
  last,
  mapping,
  names,
  scalar,
  wholeNumber,
} from './value-schemas.ts';

/** The settings of the urn. A studies file may give them once, at its top level, for all its studies. */
export const URN = {
  D: choice('D', ImbalanceMeasure.options),
  urn_selection: choice('urn_selection', ['method1']),
  w: count('w', {
    min: 1,
    max: MAX_WEIGHT,
    hint: 'write at least 1: with w 0 the second allocation of a two-arm urn is certain (ICH E9 2.3.2)',
  }),
  alpha: count('alpha', { min: 0, max: MAX_WEIGHT }),
  beta: count('beta', { min: 0, max: MAX_WEIGHT }),
};

/** Recorded if nothing is written. Of other settings, nothing is recorded then. */
export const DEFAULTS = {
  mode: 'live',
  D: 'chisquare',
  urn_selection: 'method1',
  w: 1,
  alpha: 0,
  beta: 1,
} as const;

/** The names of the policies in a studies file. */
export const POLICY_KEYS = {
  stopAtLimit: 'stop_at_limit',
  levelCounts: 'level_counts',
  voidCounts: 'void_counts',
  forcedCounts: 'forced_counts',
} as const satisfies Record<keyof Policies, string>;

/** Of two choices, the first is the default, which is not recorded. */
const either = <const D extends string, const O extends string>(name: string, byDefault: D, other: O) =>
  choice(name, [byDefault, other]).transform((chosen) => (chosen === other ? other : undefined));

const levels = names('level');

const factors = anyMapping(
  'factors',
  'the factors are not a mapping (hint: write each as "name: [level, level]" on a line of its own)',
)
  .refine(
    ({ size }) => size > 0,
    'it has no factor (hint: add at least one; an unstratified trial has one factor with one level)',
  )
  .transform((given, context): StudyConfiguration['factors'] =>
    [...given].map(([name, value]) => {
      const refuse = (path: readonly PropertyKey[], problem: string) =>
        issuesIn(context)([name, ...path], `factor ${quote(name)}${problem}`);
      const problem = factorNameProblem(name);
      if (problem) refuse([], ` ${hinted(problem)}`);
      if (value === null || (Array.isArray(value) && value.length === 0)) {
        refuse([], ' has no level (hint: list its levels, or remove the factor)');
        return { name, levels: [] };
      }
      const { error, data = [] } = levels.safeParse(value);
      for (const { path, message } of error?.issues ?? []) refuse(path, `: ${message}`);
      return { name, levels: data };
    }),
  );

/** Factors are query parameters beside these, and the prefix `f_` marks them in records. */
function factorNameProblem(name: string): Problem | undefined {
  if (['api_key', 'study', 'id'].includes(name))
    return { reason: 'has the name of a parameter of every request', hint: 'choose another name' };
  const prefix = ['f_', 'urn.'].find((reserved) => name.startsWith(reserved));
  return prefix === undefined
    ? nameProblem(name)
    : { reason: `begins with "${prefix}", which is reserved`, hint: 'choose another name' };
}

const NO_PATTERN = 'id_pattern is not a regular expression on one line (hint: put it in single quotes)';

const idPattern = scalar('id_pattern', NO_PATTERN)
  .transform(({ text }) => text)
  .refine((pattern) => !nameProblem(pattern), last(NO_PATTERN))
  .refine(
    (pattern) => pattern.length <= MAX_PATTERN_LENGTH,
    last(`id_pattern is longer than ${MAX_PATTERN_LENGTH} characters (hint: write a shorter one)`),
  )
  .superRefine((pattern, context) => {
    try {
      // By itself, too: `a)|(?:b` would compile only inside the group that it breaks out of.
      new RegExp(pattern, 'u');
      new RegExp(`^(?:${pattern})$`, 'u');
    } catch (error) {
      const reason = error instanceof SyntaxError ? error.message : 'unknown reason';
      context.addIssue(
        `id_pattern cannot be used: ${reason} (hint: write it in JavaScript syntax, e.g. [0-9]{3}-[0-9]{4})`,
      );
    }
  });

function textOfProtocol(name: string) {
  const error = `${name} of the protocol is not a text (hint: write it in quotes)`;
  return scalar(name, error)
    .transform(({ text }) => text)
    .refine((text) => !nameProblem(text), last(error));
}

const protocol = mapping(
  'protocol',
  {
    version: textOfProtocol('version'),
    date: textOfProtocol('date').refine((date) => /^\d{4}-\d{2}-\d{2}$/.test(date) && isDay(date), {
      error: ({ input }) =>
        `the protocol's date ${quote(String(input))} is not a day of the calendar (hint: write it as "2027-01-10")`,
    }),
  },
  {
    missing: (key) =>
      key === 'version'
        ? 'the protocol has no version (hint: write {version: "2.0", date: "2027-01-10"})'
        : undefined,
  },
).transform((read) => read as Protocol);

/** All settings but those of dependent-settings.ts. */
export const SETTINGS = {
  ...URN,
  starting_seed: wholeNumber('starting_seed'),
  mode: choice('mode', ['test', 'live']),
  id_pattern: idPattern,
  target_enrollment: count('target_enrollment', { min: 0, max: Number.MAX_SAFE_INTEGER }),
  treatments: names('treatment').refine(
    ({ length }) => length >= 2,
    'it has fewer than two treatments (hint: list at least two)',
  ),
  factors,
  blinding: either('blinding', 'open', 'blinded'),
  start: either('start', 'open', 'paused'),
  policies: mapping('policies', {
    stop_at_limit: choice('stop_at_limit', ['true', 'false']).transform((is) => is === 'true' || undefined),
    level_counts: choice('level_counts', ['as-randomized', 'as-corrected']),
    void_counts: either('void_counts', 'kept', 'removed'),
    forced_counts: either('forced_counts', 'counted', 'not-counted'),
  }),
  protocol,
};
