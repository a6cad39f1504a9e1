/** The settings of a study that name its treatments or its factors. Messages never name a treatment. */
import { z } from 'zod';
import { type Limits, MAX_VISITS, type StudyConfiguration, Visit } from '../../../events/study.ts';
import { counted } from '../../base/wording.ts';
import { isEqualAllocation, visitProblems } from '../model/design.ts';
import { count, issuesIn, last, list, mapping, mappingOf } from './value-schemas.ts';
import { Scalar, type Value } from './yaml-values.ts';

type Factors = StudyConfiguration['factors'];

/** If what a setting names is refused, one problem is enough to report. */
const NOT_JUDGED = z.unknown().transform(() => undefined);

/**
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

const share = (place: number) => count(`the ratio of treatment ${place + 1}`, { min: 1, max: 20 });
type Share = ReturnType<typeof share>;

/**
 * `{A: 2, B: 1}`, or `[2, 1]` in the order of the treatments: the numbers in that order. Whether they fit together is judged
 * when the study is registered or amended: the numbers of the open arms alone may not.
 */
const ratioOf = (treatments: readonly string[], written: Value | undefined): z.ZodType<number[]> =>
  (written instanceof Map ? ratioByName(treatments) : ratioByPlace(treatments)).refine(
    (numbers) => !isEqualAllocation(numbers),
    'the ratio gives every treatment the same share (hint: leave it out)',
  );

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

const ratioByName = (treatments: readonly string[]): z.ZodType<number[]> =>
  mappingOf('ratio', treatments, (treatment) => share(treatments.indexOf(treatment)), {
    unknown: (_, place) =>
      `entry ${place + 1} of the ratio is not a treatment of the study (hint: write it as under treatments, with a space after the colon)`,
    missing: (treatment) =>
      `the ratio leaves out treatment ${treatments.indexOf(treatment) + 1} (hint: write a number for every treatment, even if it is 1)`,
  }).transform((numbers) => treatments.flatMap((treatment) => numbers.get(treatment) ?? []));

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

const LIMIT = { min: 1, max: 1_000_000_000 };

/** `{total: 300, levels: {sex: {Male: 150}}}`. The levels are in the order of the factors, whatever the order in the file. */
const limitsOf = (factors: Factors | undefined) =>
  mapping('limits', {
    total: count('total', LIMIT),
    levels: factors ? limitsOfLevels(factors) : NOT_JUDGED,
  }).transform((limits): Limits | undefined => (Object.keys(limits).length > 0 ? limits : undefined));

const limitsOfLevels = (factors: Factors) =>
  mappingOf(
    'levels',
    factors.map(({ name }) => name),
    (name) => {
      const levels = factors.find((factor) => factor.name === name)?.levels ?? [];
      return mappingOf(name, levels, (level) => count(level, LIMIT));
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
