/** The shares of levels for a simulation: YAML, with the factors of the study at the top level, and `opens`. */
import type { z } from 'zod';
import { quote } from '../../base/text.ts';
import { type Finding, findingsOf } from '../../core/configuration/finding.ts';
import {
  count,
  mappingOf,
  type RefuseAt,
  readEach,
  readYaml,
  scalar,
  suggest,
  type Value,
} from '../../core/configuration/yaml.ts';
import type { Arrivals } from './plan.ts';

type Shares = Extract<Arrivals, { kind: 'shares' }>;
type Factors = readonly { readonly name: string; readonly levels: readonly string[] }[];

const OPENS = 'opens';

/** @returns what the file says, or every reason why it is refused. A factor that is left out has equal shares */
export function parseSharesFile(
  text: string,
  fileName: string,
  factors: Factors,
): { readonly shares: Shares } | { readonly findings: readonly Finding[] } {
  const { note, sorted } = findingsOf(fileName);
  const yaml = readYaml(text, note);
  const shares = yaml && sharesIn(yaml.root, factors, (path, message) => note(yaml.lineOf(path), message));
  const findings = sorted();
  return shares && findings.length === 0 ? { shares } : { findings };
}

function sharesIn(root: Value, factors: Factors, refuse: RefuseAt): Shares | undefined {
  if (!(root instanceof Map)) {
    const what = root === null ? 'empty' : 'not a mapping';
    refuse(
      [],
      `the file is ${what} (hint: write {name: number, name: number}, or name: number on lines below)`,
    );
    return undefined;
  }
  const names = factors.map(({ name }) => name);
  const noFactor = (key: string) => `the study has no factor ${quote(key)} (hint: ${suggest(key, names)})`;
  for (const key of root.keys()) if (key !== OPENS && !names.includes(key)) refuse([key], noFactor(key));

  const levelsOf = (name: string) => factors[names.indexOf(name)]?.levels ?? [];
  const byLevel =
    <T>(schemaOf: (level: string) => z.ZodType<T>) =>
    (name: string) =>
      mappingOf(name, levelsOf(name), schemaOf, {
        unknown: (key) =>
          `factor ${quote(name)} has no level ${quote(key)} (hint: ${suggest(key, levelsOf(name))})`,
      });
  const written = readEach(
    root,
    names.filter((name) => name !== OPENS),
    byLevel(shareOf),
    refuse,
  );
  const opening = () => mappingOf(OPENS, names, byLevel(openFrom), { unknown: noFactor });
  const opens = [...(readEach(root, [OPENS], opening, refuse).get(OPENS) ?? [])].flatMap(([name, levels]) =>
    [...levels].map(([level, from]) => ({
      factor: names.indexOf(name),
      level: levelsOf(name).indexOf(level),
      from,
    })),
  );
  const shares = factors.map(({ name, levels }) => {
    const ofFactor = written.get(name);
    // A level that is left out has the share 0.
    return levels.map((level) => (ofFactor ? (ofFactor.get(level) ?? 0) : 1));
  });
  refuseNobody(shares, opens, factors, refuse);
  return { kind: 'shares', shares, opens };
}

/** Every participant needs a level. Levels only open, so the first participant has the least choice. */
function refuseNobody(
  shares: Shares['shares'],
  opens: Shares['opens'],
  factors: Factors,
  refuse: RefuseAt,
): void {
  shares.forEach((ofFactor, factor) => {
    const { name = '' } = factors[factor] ?? {};
    const isLater = (level: number) =>
      opens.some((one) => one.factor === factor && one.level === level && one.from > 1);
    if (ofFactor.every((share) => share === 0))
      refuse([name], `all shares of ${quote(name)} are 0 (hint: one of its levels needs a share above 0)`);
    else if (ofFactor.every((share, level) => share === 0 || isLater(level)))
      refuse(
        [OPENS],
        `no level of ${quote(name)} is open for the first participant (hint: leave levels that are open from the start out of opens)`,
      );
  });
}

const openFrom = (level: string) => count(level, { min: 1, max: Number.MAX_SAFE_INTEGER });

function shareOf(level: string) {
  const name = `the share of ${quote(level)}`;
  const error = `${name} is not a number from 0 to 1e15 (hint: write it as 0.25 or 120)`;
  return scalar(name, error)
    .transform(({ text, plain }) => (plain ? parseShare(text) : undefined))
    .refine((share) => share !== undefined, error);
}

/** Keeps sums of shares finite. */
const MAX_SHARE = 1e15;

/** A number from 0 to `MAX_SHARE`; undefined if the text is not one. */
export function parseShare(text: string): number | undefined {
  const share = /^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return share <= MAX_SHARE ? share : undefined;
}
