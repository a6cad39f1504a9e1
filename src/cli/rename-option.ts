/** Reads --rename 'FACTOR:OLD=NEW' of urn studies amend. */

import { quote } from '../base/text.ts';
import type { LevelRenamed } from '../core/configuration/amendment.ts';
import type { Design } from '../core/model/design.ts';

export interface ReadRenamings {
  readonly renamings: readonly LevelRenamed[];
  /** Each is a sentence. */
  readonly problems: readonly string[];
}

type Factors = readonly { readonly name: string; readonly levels: readonly string[] }[];

/**
 * @param design whose levels have the old names
 * @param inFile the factors of the file, which has the new ones
 * @param hasAlias whether requests may still use the old names
 */
export function readRenamings(
  texts: readonly string[],
  hasAlias: boolean,
  { factors }: Pick<Design, 'factors'>,
  inFile: Factors,
): ReadRenamings {
  const renamings: LevelRenamed[] = [];
  const problems = hasAlias && texts.length === 0 ? ['--alias belongs to --rename'] : [];
  for (const text of texts) {
    const possible = readings(text, factors);
    const meant = possible.find(({ factor, level, to }) => {
      const levels = levelsOf(inFile, factor);
      return levels.includes(to) && !levels.includes(level);
    });
    if (meant) renamings.push({ kind: 'level-renamed', ...meant, ...(hasAlias && { alias: true as const }) });
    else problems.push(`--rename ${quote(text)}: ${whyNot(text, possible[0], factors, inFile)}`);
  }
  return { renamings, problems };
}

type Reading = Pick<LevelRenamed, 'factor' | 'level' | 'to'>;

/** Names may contain colons and equals signs, so there may be several. */
function readings(text: string, factors: Factors): Reading[] {
  return factors.flatMap(({ name: factor, levels }) =>
    levels.flatMap((level) => {
      const start = `${factor}:${level}=`;
      return text.startsWith(start) ? [{ factor, level, to: text.slice(start.length) }] : [];
    }),
  );
}

function whyNot(text: string, reading: Reading | undefined, factors: Factors, inFile: Factors): string {
  if (reading) {
    const { factor, level, to } = reading;
    return levelsOf(inFile, factor).includes(level)
      ? `the file still has the level ${quote(level)} in ${quote(factor)}`
      : `the file has no level ${quote(to)} in ${quote(factor)} (hint: write the new name into the file)`;
  }
  const factor = factors.find(({ name }) => text.startsWith(`${name}:`));
  if (!factor) return `it is not FACTOR:OLD=NEW (factors: ${namesText(factors.map(({ name }) => name))})`;
  return `${quote(factor.name)} has no such level (levels: ${namesText(factor.levels)})`;
}

function levelsOf(factors: Factors, factor: string): readonly string[] {
  return factors.find(({ name }) => name === factor)?.levels ?? [];
}

function namesText(names: readonly string[]): string {
  return names.map(quote).join(', ');
}
