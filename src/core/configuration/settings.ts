/**
 * The settings of a study in the studies file: what each may be, and what is said if it is something else. A new setting goes
 * into `SETTINGS`, or into `dependentSettings` if it names treatments or factors; `methodSetting` is the setting `method`.
 *
 * The service prints why it refuses a file. So no message names a treatment, and none shows a parameter of the method: a
 * size, p, a measure or a weight.
 *
 * The schemas in `SETTINGS` are made when this file is loaded, so what they are made of stands above it.
 */
import { z } from 'zod';
import type { Protocol } from '../../../events/define.ts';
import {
  ImbalanceMeasure,
  type Limits,
  MAX_FACTOR_WEIGHT,
  MAX_PER_SLOT,
  MAX_SIZES,
  MAX_VISITS,
  MAX_WEIGHT,
  type Method,
  type MethodParameters,
  type MinimizationParameters,
  type Policies,
  type StudyConfiguration,
  Visit,
} from '../../../events/study.ts';
import { nameProblem, quote } from '../../base/text.ts';
import { isDay } from '../../base/time.ts';
import { greatestCommonDivisor } from '../../base/whole-numbers.ts';
import { counted } from '../../base/wording.ts';
import { isEqualAllocation, visitProblems } from '../model/design.ts';
import { MAX_PATTERN_LENGTH } from '../model/participant-id.ts';
import { hinted, type Problem } from './finding.ts';
import {
  anyMapping,
  choice,
  count,
  issuesIn,
  last,
  list,
  type Mapping,
  mapping,
  mappingOf,
  names,
  type RefuseAt,
  readEach,
  Scalar,
  scalar,
  suggest,
  type Value,
  wholeNumber,
} from './yaml.ts';

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

const levelNames = names('level');

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
      const { error, data = [] } = levelNames.safeParse(value);
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

const NOT_A_PATTERN = 'id_pattern is not a regular expression on one line (hint: put it in single quotes)';

const idPattern = scalar('id_pattern', NOT_A_PATTERN)
  .transform(({ text }) => text)
  .refine((pattern) => !nameProblem(pattern), last(NOT_A_PATTERN))
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

function textOfProtocol(name: string) {
  const error = `${name} of the protocol is not a text (hint: write it in quotes)`;
  return scalar(name, error)
    .transform(({ text }) => text)
    .refine((text) => !nameProblem(text), last(error));
}

/** Of two choices, the first is the default, which is not recorded. */
const either = <const D extends string, const O extends string>(name: string, byDefault: D, other: O) =>
  choice(name, [byDefault, other]).transform((chosen) => (chosen === other ? other : undefined));

/** All settings but those that name treatments or factors (`dependentSettings`), and the method. */
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

type Factors = StudyConfiguration['factors'];

/**
 * The settings that name treatments or factors.
 * @param treatments undefined if they are refused, like the factors
 * @param ratio as it is written
 */
export const dependentSettings = (
  treatments: readonly string[] | undefined,
  factors: Factors | undefined,
  ratio: Value | undefined,
) => ({
  // Made only for a study that has the setting.
  ratio: z.lazy(() => (treatments ? ratioOf(treatments, ratio) : NOT_JUDGED)),
  visits: z.lazy(() => visitsOf(treatments ?? [])),
  limits: z.lazy(() => limitsOf(factors)),
});

/** If what a setting names is refused, one problem is enough to report. */
const NOT_JUDGED = z.unknown().transform(() => undefined);

/**
 * `{A: 2, B: 1}`, or `[2, 1]` in the order of the treatments: the numbers in that order. Whether they fit together is judged
 * when the study is registered or amended: the numbers of the open arms alone may not.
 */
const ratioOf = (treatments: readonly string[], written: Value | undefined): z.ZodType<number[]> =>
  (written instanceof Map ? ratioByName(treatments) : ratioByPlace(treatments)).refine(
    (numbers) => !isEqualAllocation(numbers),
    'the ratio gives every treatment the same share (hint: leave it out)',
  );

const ratioByName = (treatments: readonly string[]): z.ZodType<number[]> =>
  mappingOf('ratio', treatments, (treatment) => share(treatments.indexOf(treatment)), {
    unknown: (_, place) =>
      `entry ${place + 1} of the ratio is not a treatment of the study (hint: write it as under treatments, with a space after the colon)`,
    missing: (treatment) =>
      `the ratio leaves out treatment ${treatments.indexOf(treatment) + 1} (hint: write a number for every treatment, even if it is 1)`,
  }).transform((numbers) => treatments.flatMap((treatment) => numbers.get(treatment) ?? []));

function ratioByPlace(treatments: readonly string[]): z.ZodType<number[]> {
  const hint = 'write {first treatment: 2, second treatment: 1}, or [2, 1] in the order of the treatments';
  return list('ratio', `the ratio is neither a mapping nor a list (hint: ${hint})`)
    .superRefine(({ length }, context) => {
      if (length !== treatments.length)
        context.addIssue(
          `the ratio has ${counted(length, 'number')} for ${counted(treatments.length, 'treatment')} (hint: ${hint})`,
        );
    })
    .pipe(z.tuple(treatments.map((_, place) => share(place)) as [Share, ...Share[]]));
}

const share = (place: number) => count(`the ratio of treatment ${place + 1}`, { min: 1, max: 20 });
type Share = ReturnType<typeof share>;

/** `[V2, V3, Week 12]`: the visits at which participants get packs. No message names one: it may be the name of an arm. */
const visitsOf = (treatments: readonly string[]) =>
  list('visits', 'the visits are not a list (hint: write them as [V2, V3])')
    .refine(({ length }) => length > 0, last('it has no visit (hint: leave visits out)'))
    .superRefine(({ length }, context) => {
      if (length > MAX_VISITS)
        context.addIssue(`it has ${counted(length, 'visit')} (hint: list at most ${MAX_VISITS})`);
    })
    .transform((items, context) => {
      const visits = items.map((item) => (item instanceof Scalar ? item.text : ''));
      const isForm = visits.map((visit) => Visit.safeParse(visit).success);
      const refuse = (place: number, problem: string) =>
        issuesIn(context)([place], `visit ${place + 1} ${problem}`);
      for (const [place, is] of isForm.entries())
        if (!is)
          refuse(
            place,
            'has not the form of a visit (hint: write 1 to 20 of A–Z a–z 0–9 . _ - and blanks, beginning with a letter or a digit)',
          );
      for (const { index, why } of visitProblems(visits, treatments))
        if (isForm[index]) refuse(index, `${why} (hint: give it another name)`);
      return visits;
    });

const LIMIT_BOUNDS = { min: 1, max: 1_000_000_000 };

/** `{total: 300, levels: {sex: {Male: 150}}}`. The levels are in the order of the factors, whatever the order in the file. */
const limitsOf = (factors: Factors | undefined) =>
  mapping('limits', {
    total: count('total', LIMIT_BOUNDS),
    levels: factors ? limitsOfLevels(factors) : NOT_JUDGED,
  }).transform((limits): Limits | undefined => (Object.keys(limits).length > 0 ? limits : undefined));

const limitsOfLevels = (factors: Factors) =>
  mappingOf(
    'levels',
    factors.map(({ name }) => name),
    (name) => {
      const levels = factors.find((factor) => factor.name === name)?.levels ?? [];
      return mappingOf(name, levels, (level) => count(level, LIMIT_BOUNDS));
    },
  ).transform((limited) => {
    const limits = factors.flatMap(({ name: factor, levels }) =>
      levels.flatMap((level) => {
        const max = limited.get(factor)?.get(level);
        return max === undefined ? [] : [{ factor, level, max }];
      }),
    );
    return limits.length > 0 ? limits : undefined;
  });

export interface MethodSetting {
  /** Undefined: the urn. */
  readonly method: Method | undefined;
  readonly parameters: MethodParameters;
}

/** Of the study that the method is for. */
interface FactorsAndSlots {
  readonly factors: Factors;
  /** How many slots the arms of the file have. */
  readonly slots: number;
}

const METHOD_NAMES = ['urn', 'blocks', 'minimization', 'complete', 'list'] as const;
type MethodName = (typeof METHOD_NAMES)[number];

const METHOD_EXAMPLE = '{name: blocks, by: [local_site], sizes: [4, 6]}';

/** The setting `method`: how participants are allocated. Without it, or with `{name: urn}`, from urns. */
export const methodSetting = (of: FactorsAndSlots) =>
  anyMapping('method', `method is not a mapping (hint: write ${METHOD_EXAMPLE})`).transform(
    (given, context): MethodSetting => {
      const refuse: RefuseAt = (path, message) => issuesIn(context)(path, `method: ${message}`);
      const named = given.get('name');
      const text = named instanceof Scalar ? named.text : '';
      const name = METHOD_NAMES.find((one) => one === text);
      if (name === undefined) {
        const problem = text === '' ? 'it has no name' : `there is no method ${quote(text)}`;
        refuse(given.has('name') ? ['name'] : [], `${problem} (hint: ${suggest(text, METHOD_NAMES)})`);
        return { method: undefined, parameters: {} };
      }
      return readMethod(name, given, of, refuse);
    },
  );

function readMethod(name: MethodName, given: Mapping, of: FactorsAndSlots, refuse: RefuseAt): MethodSetting {
  const members = membersOfMethod(name, of);
  const keys = Object.keys(members);
  for (const key of given.keys())
    if (key !== 'name' && !keys.includes(key))
      refuse([key], `${name} has no ${quote(key)} (hint: ${hintForMember(key, name, keys)})`);
  for (const [key, hint] of Object.entries(REQUIRED_MEMBERS))
    if (keys.includes(key) && !given.has(key))
      refuse([], `${name} needs ${key} (hint: ${hint}${key === 'by' ? WITHOUT_STRATA[name] : ''})`);
  const found = readEach(given, keys, (key) => members[key] as z.ZodType, refuse);
  switch (name) {
    case 'urn':
      return { method: undefined, parameters: {} };
    case 'complete':
      return { method: { name }, parameters: {} };
    case 'list': {
      const { by = [] } = Object.fromEntries(found) as { by?: string[] };
      return { method: { name, by }, parameters: {} };
    }
    case 'blocks': {
      const { by = [], sizes = [] } = Object.fromEntries(found) as { by?: string[]; sizes?: number[] };
      return { method: { name, by }, parameters: { blocks: { perSlot: sizes } } };
    }
    case 'minimization': {
      const { p = 800, measure = 'range', weights } = Object.fromEntries(found) as MinimizationMembers;
      const isEqual = weights?.every((weight) => weight === 1) ?? true;
      const minimization = { measure, pThousandths: p, ...(!isEqual && weights && { weights }) };
      return { method: { name }, parameters: { minimization } };
    }
  }
}

const REQUIRED_MEMBERS = { by: 'by: [local_site], or by: [] for ', sizes: 'sizes: [4, 6]' };
/** What `by: []` makes. */
const WITHOUT_STRATA: Readonly<Partial<Record<MethodName, string>>> = {
  blocks: 'blocks over the whole study',
  list: 'one list over the whole study',
};

interface MinimizationMembers {
  readonly p?: number;
  readonly measure?: MinimizationParameters['measure'];
  readonly weights?: number[];
}

function hintForMember(key: string, name: MethodName, keys: readonly string[]): string {
  if (name === 'urn' && Object.hasOwn(URN, key)) return `write ${key} beside method, not in it`;
  return keys.length > 0 ? suggest(key, keys) : 'leave it out';
}

function membersOfMethod(
  name: MethodName,
  { factors, slots }: FactorsAndSlots,
): Readonly<Record<string, z.ZodType>> {
  switch (name) {
    case 'urn':
    case 'complete':
      return {};
    case 'list':
      return { by: strata(factors).refine((by) => !by.includes('treatment'), COLUMN_OF_ARMS) };
    case 'blocks':
      return { by: strata(factors), sizes: sizes(slots) };
    case 'minimization':
      return { p: chance, measure: measure, weights: weights(factors) };
  }
}

const COLUMN_OF_ARMS =
  'by: the column treatment of a list has the arms (hint: give the factor "treatment" another name)';

/** The factors whose levels make a stratum, in the order of the study. */
const strata = (factors: Factors) =>
  list('by', 'by is not a list (hint: write by: [local_site], or by: [] for the whole study)').transform(
    (items, context) => {
      const known = factors.map(({ name }) => name);
      const by = items.map((item) => (item instanceof Scalar ? item.text : ''));
      for (const [i, name] of by.entries()) {
        const problem = name === '' ? 'a factor has no name' : `the study has no factor ${quote(name)}`;
        if (!known.includes(name)) issuesIn(context)([i], `by: ${problem} (hint: ${suggest(name, known)})`);
        else if (by.indexOf(name) < i)
          issuesIn(context)([i], `by: the factor ${quote(name)} is there twice (hint: remove one)`);
      }
      return known.filter((name) => by.includes(name));
    },
  );

/** @returns how many places each slot has in a block of each size, ascending */
const sizes = (slots: number) =>
  list('sizes', 'sizes is not a list (hint: write sizes: [4, 6])')
    .refine(
      ({ length }) => length >= 1 && length <= MAX_SIZES,
      last(`sizes must be 1 to ${MAX_SIZES} different numbers (hint: sizes: [4, 6])`),
    )
    .transform((items, context) => {
      const schema = count('a size', { min: 1, max: slots * MAX_PER_SLOT });
      const found = items.map((item) => schema.safeParse(item));
      const read = found.map(({ data }) => data);
      for (const [i, { error, data = 0 }] of found.entries()) {
        for (const { message } of error?.issues ?? []) issuesIn(context)([i], `sizes: ${message}`);
        if (error) continue;
        if (data % slots !== 0)
          issuesIn(context)(
            [i],
            `sizes: ${data} is not a multiple of ${slots}, the number of slots (hint: ${slots}, ${2 * slots}, ${3 * slots})`,
          );
        else if (read.indexOf(data) < i)
          issuesIn(context)([i], `sizes: ${data} is there twice (hint: each size is equally likely)`);
      }
      return read.map((size = 0) => size / slots).sort((a, b) => a - b);
    });

/** What is refused, without the size: it may still be that of a study in the log. */
export function withoutSize(message: string): string {
  return message.replace(/(: sizes: )\d+ /, '$1a size ');
}

const NOT_A_CHANCE = 'p must be from 0.55 to 0.95, with at most three decimals (hint: 0.8)';

/** @returns thousandths */
const chance = scalar('p', NOT_A_CHANCE)
  .refine(({ text, plain }) => plain && /^0?\.\d{1,3}$/.test(text), last(NOT_A_CHANCE))
  .transform(({ text }) => Math.round(1000 * Number(text)))
  .refine((p) => p >= 550 && p <= 950, NOT_A_CHANCE);

const NOT_A_MEASURE = 'measure must be range or variance (hint: range)';

const measure = scalar('measure', NOT_A_MEASURE)
  .transform(({ text }) => text)
  .pipe(z.enum(['range', 'variance'], NOT_A_MEASURE));

const NOT_WEIGHTS = `weights must be whole numbers from 1 to ${MAX_FACTOR_WEIGHT} for all factors, without a common divisor (hint: leave equal ones out)`;

/** @returns one weight per factor, in the order of the study */
const weights = (factors: Factors) => {
  const names = factors.map(({ name }) => name);
  return mappingOf(
    'weights',
    names,
    (name) => count(`the weight of ${quote(name)}`, { min: 1, max: MAX_FACTOR_WEIGHT }),
    {
      missing: () => NOT_WEIGHTS,
    },
  )
    .transform((given) => names.flatMap((name) => given.get(name) ?? []))
    .refine((all) => all.length < names.length || all.reduce(greatestCommonDivisor) === 1, NOT_WEIGHTS);
};
