/** The ratio of a study in the studies file: `{A: 2, B: 1}`, or `[2, 1]` in the order of the treatments. */
import type { StudyConfiguration } from '../../../events/study.ts';
import { counted } from '../../base/counted.ts';
import { isEqualAllocation, ratioProblem } from '../study/ratio.ts';
import type { Refuse } from './finding.ts';
import { readCount } from './values.ts';
import { type Entry, isMissing } from './yaml-tree.ts';

const BOUNDS = { min: 1, max: 20 };
const FORM = 'write {first treatment: 2, second treatment: 1}, or [2, 1] in the order of the treatments';

/**
 * The numbers in the order of the treatments; undefined if they are refused. Messages never name a treatment. Whether the
 * numbers fit together is judged when the study is registered or amended: the numbers of the open arms alone may not.
 */
export function readRatio(
  entry: Entry | undefined,
  treatments: readonly string[],
  refuse: Refuse,
): number[] | undefined {
  if (!entry) return undefined;
  const numbers = numbersIn(entry, treatments, refuse);
  if (!numbers) return undefined;
  if (!isEqualAllocation(numbers)) return numbers;
  refuse(entry.line, 'the ratio gives every treatment the same share', 'leave it out');
  return undefined;
}

/** Why a new study cannot have its ratio. */
export function noteNewRatio({ treatments, ratio }: StudyConfiguration, line: number, note: Refuse): void {
  const problem = ratio && ratioProblem(treatments, ratio);
  if (problem !== undefined)
    note(
      line,
      `the ratio is not possible: ${problem}`,
      'write the smallest whole numbers, with a sum of at most 40',
    );
}

function numbersIn(entry: Entry, treatments: readonly string[], refuse: Refuse): number[] | undefined {
  const { value } = entry;
  if (value.kind === 'mapping') return numbersByName(entry, value.entries, treatments, refuse);
  if (value.kind !== 'list') {
    refuse(entry.line, 'the ratio is neither a mapping nor a list', FORM);
    return undefined;
  }
  if (value.items.length !== treatments.length) {
    refuse(
      entry.line,
      `the ratio has ${counted(value.items.length, 'number')} for ${counted(treatments.length, 'treatment')}`,
      FORM,
    );
    return undefined;
  }
  return whole(value.items.map((item, i) => readShare({ key: '', line: item.line, value: item }, i, refuse)));
}

function numbersByName(
  { line }: Entry,
  entries: readonly Entry[],
  treatments: readonly string[],
  refuse: Refuse,
): number[] | undefined {
  for (const [i, { key, line: own }] of entries.entries())
    if (!treatments.includes(key))
      refuse(
        own,
        `entry ${i + 1} of the ratio is not a treatment of the study`,
        'write it as under treatments, with a space after the colon',
      );
  return whole(
    treatments.map((treatment, i) => {
      const entry = entries.find(({ key }) => key === treatment);
      if (entry) return readShare(entry, i, refuse);
      refuse(
        line,
        `the ratio leaves out treatment ${i + 1}`,
        'write a number for every treatment, even if it is 1',
      );
      return undefined;
    }),
  );
}

function readShare(entry: Entry, place: number, refuse: Refuse): number | undefined {
  const named = { ...entry, key: `the ratio of treatment ${place + 1}` };
  if (!isMissing(entry.value)) return readCount(named, BOUNDS, refuse);
  refuse(entry.line, `${named.key} has no value`, 'write a whole number, such as 1');
  return undefined;
}

/** Undefined if a number is missing. */
function whole(numbers: readonly (number | undefined)[]): number[] | undefined {
  const known = numbers.filter((number) => number !== undefined);
  return known.length === numbers.length ? known : undefined;
}
