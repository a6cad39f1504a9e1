/**
 * The setting `method` of a study: how its participants are allocated. Without it, or with `{name: urn}`, from urns.
 * The service prints why it refuses a file, so no message shows a size, p, measure or weight.
 */
import { z } from 'zod';
import {
  MAX_FACTOR_WEIGHT,
  MAX_PER_SLOT,
  MAX_SIZES,
  type Method,
  type MethodParameters,
  type MinimizationParameters,
  type StudyConfiguration,
} from '../../../events/study.ts';
import { quote } from '../../base/text.ts';
import { greatestCommonDivisor } from '../../base/whole-numbers.ts';
import { URN } from './study-settings.ts';
import {
  anyMapping,
  count,
  issuesIn,
  last,
  list,
  mappingOf,
  type RefuseAt,
  readEach,
  scalar,
  suggest,
} from './value-schemas.ts';
import { type Mapping, Scalar } from './yaml-values.ts';

type Factors = StudyConfiguration['factors'];

export interface MethodSetting {
  /** Undefined: the urn. */
  readonly method: Method | undefined;
  readonly parameters: MethodParameters;
}

/** Those of the study that the setting is about. */
interface Of {
  readonly factors: Factors;
  /** How many slots the arms of the file have. */
  readonly slots: number;
}

const NAMES = ['urn', 'blocks', 'minimization', 'complete', 'list'] as const;
type Name = (typeof NAMES)[number];

const EXAMPLE = '{name: blocks, by: [local_site], sizes: [4, 6]}';

export const methodSetting = (of: Of) =>
  anyMapping('method', `method is not a mapping (hint: write ${EXAMPLE})`).transform(
    (given, context): MethodSetting => {
      const refuse: RefuseAt = (path, message) => issuesIn(context)(path, `method: ${message}`);
      const named = given.get('name');
      const text = named instanceof Scalar ? named.text : '';
      const name = NAMES.find((one) => one === text);
      if (name === undefined) {
        const problem = text === '' ? 'it has no name' : `there is no method ${quote(text)}`;
        refuse(given.has('name') ? ['name'] : [], `${problem} (hint: ${suggest(text, NAMES)})`);
        return { method: undefined, parameters: {} };
      }
      return read(name, given, of, refuse);
    },
  );

function read(name: Name, given: Mapping, of: Of, refuse: RefuseAt): MethodSetting {
  const members = membersOf(name, of);
  const keys = Object.keys(members);
  for (const key of given.keys())
    if (key !== 'name' && !keys.includes(key))
      refuse([key], `${name} has no ${quote(key)} (hint: ${hintFor(key, name, keys)})`);
  for (const [key, hint] of Object.entries(REQUIRED))
    if (keys.includes(key) && !given.has(key))
      refuse([], `${name} needs ${key} (hint: ${hint}${key === 'by' ? WHOLE[name] : ''})`);
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
      const { p = 800, measure = 'range', weights } = Object.fromEntries(found) as Minimized;
      const isEqual = weights?.every((weight) => weight === 1) ?? true;
      const minimization = { measure, pThousandths: p, ...(!isEqual && weights && { weights }) };
      return { method: { name }, parameters: { minimization } };
    }
  }
}

function hintFor(key: string, name: Name, keys: readonly string[]): string {
  if (name === 'urn' && Object.hasOwn(URN, key)) return `write ${key} beside method, not in it`;
  return keys.length > 0 ? suggest(key, keys) : 'leave it out';
}

interface Minimized {
  readonly p?: number;
  readonly measure?: MinimizationParameters['measure'];
  readonly weights?: number[];
}

const REQUIRED = { by: 'by: [local_site], or by: [] for ', sizes: 'sizes: [4, 6]' };
/** What `by: []` makes. */
const WHOLE: Readonly<Partial<Record<Name, string>>> = {
  blocks: 'blocks over the whole study',
  list: 'one list over the whole study',
};

function membersOf(name: Name, { factors, slots }: Of): Readonly<Record<string, z.ZodType>> {
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

/** What is refused, without the size: it may still be that of a study in the log. */
export function withoutSize(message: string): string {
  return message.replace(/(: sizes: )\d+ /, '$1a size ');
}

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

const NO_CHANCE = 'p must be from 0.55 to 0.95, with at most three decimals (hint: 0.8)';

/** @returns thousandths */
const chance = scalar('p', NO_CHANCE)
  .refine(({ text, plain }) => plain && /^0?\.\d{1,3}$/.test(text), last(NO_CHANCE))
  .transform(({ text }) => Math.round(1000 * Number(text)))
  .refine((p) => p >= 550 && p <= 950, NO_CHANCE);

const NO_MEASURE = 'measure must be range or variance (hint: range)';

const measure = scalar('measure', NO_MEASURE)
  .transform(({ text }) => text)
  .pipe(z.enum(['range', 'variance'], NO_MEASURE));

const NO_WEIGHTS = `weights must be whole numbers from 1 to ${MAX_FACTOR_WEIGHT} for all factors, without a common divisor (hint: leave equal ones out)`;

/** @returns one weight per factor, in the order of the study */
const weights = (factors: Factors) => {
  const names = factors.map(({ name }) => name);
  return mappingOf(
    'weights',
    names,
    (name) => count(`the weight of ${quote(name)}`, { min: 1, max: MAX_FACTOR_WEIGHT }),
    {
      missing: () => NO_WEIGHTS,
    },
  )
    .transform((given) => names.flatMap((name) => given.get(name) ?? []))
    .refine((all) => all.length < names.length || all.reduce(greatestCommonDivisor) === 1, NO_WEIGHTS);
};
