/** Warns of likely typing errors in the names of arms, factors and levels. Names are always used exactly as written. */
import type { StudyConfiguration } from '../../../events/study.ts';
import { lookAlikeForm, lookAlikeProblem, quote } from '../../base/text.ts';

/** Warns of a setting. */
type Warn = (setting: string, message: string) => void;

/** Names that must differ from one another. */
interface Names {
  readonly setting: string;
  readonly names: readonly string[];
  /** How a message refers to one of them. */
  readonly shown: (place: number) => string;
}

export function warnAboutNames({ treatments, factors }: StudyConfiguration, warn: Warn): void {
  const setting = 'factors';
  const all: Names[] = [
    // Messages never name a treatment.
    { setting: 'treatments', names: treatments, shown: (i) => `treatment ${i + 1}` },
    {
      setting,
      names: factors.map(({ name }) => name),
      shown: (i) => `factor ${quote(factors[i]?.name ?? '')}`,
    },
    ...factors.map(({ name, levels }) => {
      return {
        setting,
        names: levels,
        shown: (i: number) => `level ${quote(levels[i] ?? '')} of ${quote(name)}`,
      };
    }),
  ];
  for (const names of all) {
    warnOfPairs(names, warn);
    warnOfInvisible(names, warn);
  }
  const hint =
    factors.length === 1
      ? 'right for a trial without stratification; otherwise list the levels that are missing'
      : 'list the levels that are missing, or remove the factor';
  for (const { name, levels } of factors)
    if (levels.length === 1)
      warn(setting, `factor ${quote(name)} has one level, which every participant has (hint: ${hint})`);
}

/** Compares each name with the first one that a person could mistake it for. */
function warnOfPairs({ setting, names, shown }: Names, warn: Warn): void {
  const first = new Map<string, number>();
  for (const [place, name] of names.entries()) {
    const form = lookAlikeForm(name).trim().toLowerCase();
    const before = first.get(form);
    if (before === undefined) first.set(form, place);
    else
      warn(
        setting,
        `${shown(before)} and ${shown(place)} differ only in case, leading or trailing blanks, or invisible characters (hint: remove one of them, unless both are intended)`,
      );
  }
}

function warnOfInvisible({ setting, names, shown }: Names, warn: Warn): void {
  for (const [place, name] of names.entries()) {
    const problem = lookAlikeProblem(name);
    if (problem !== undefined)
      warn(setting, `${shown(place)} ${problem} (hint: write it without, unless clients send exactly this)`);
  }
}
