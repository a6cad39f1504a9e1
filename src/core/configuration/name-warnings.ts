/** Warns of likely typing errors in the names of arms, factors and levels. Names are always used exactly as written. */
import type { StudyConfiguration } from '../../../events/study.ts';
import { lookAlikeForm, lookAlikeProblem, quote } from '../../base/text.ts';
import type { Refuse } from './finding.ts';

/** Names that must differ from one another. */
interface Names {
  readonly line: number;
  readonly names: readonly string[];
  /** How a message refers to one of them. */
  readonly shown: (place: number) => string;
}

/** @param lineOf the lines of the treatments and the factors in the file */
export function warnAboutNames(
  { treatments, factors }: StudyConfiguration,
  lineOf: (key: 'treatments' | 'factors') => number,
  warn: Refuse,
): void {
  const line = lineOf('factors');
  const all: Names[] = [
    // Messages never name a treatment.
    { line: lineOf('treatments'), names: treatments, shown: (i) => `treatment ${i + 1}` },
    { line, names: factors.map(({ name }) => name), shown: (i) => `factor ${quote(factors[i]?.name ?? '')}` },
    ...factors.map(({ name, levels }) => {
      return {
        line,
        names: levels,
        shown: (i: number) => `level ${quote(levels[i] ?? '')} of ${quote(name)}`,
      };
    }),
  ];
  for (const names of all) {
    warnOfPairs(names, warn);
    warnOfInvisible(names, warn);
  }
  for (const { name, levels } of factors)
    if (levels.length === 1)
      warn(
        line,
        `factor ${quote(name)} has one level, which every participant has`,
        factors.length === 1
          ? 'right for a trial without stratification; otherwise list the levels that are missing'
          : 'list the levels that are missing, or remove the factor',
      );
}

/** Compares each name with the first one that a person could mistake it for. */
function warnOfPairs({ line, names, shown }: Names, warn: Refuse): void {
  const first = new Map<string, number>();
  for (const [place, name] of names.entries()) {
    const form = lookAlikeForm(name).trim().toLowerCase();
    const before = first.get(form);
    if (before === undefined) first.set(form, place);
    else
      warn(
        line,
        `${shown(before)} and ${shown(place)} differ only in case, leading or trailing blanks, or invisible characters`,
        'remove one of them, unless both are intended',
      );
  }
}

function warnOfInvisible({ line, names, shown }: Names, warn: Refuse): void {
  for (const [place, name] of names.entries()) {
    const problem = lookAlikeProblem(name);
    if (problem !== undefined)
      warn(line, `${shown(place)} ${problem}`, 'write it without, unless clients send exactly this');
  }
}
