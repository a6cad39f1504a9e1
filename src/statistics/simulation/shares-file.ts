/** The shares of levels for a simulation: YAML, with the factors of the study at the top level, and `opens`. */
import { quote } from '../../base/text.ts';
import { type Finding, findingsOf, type Refuse } from '../../core/configuration/finding.ts';
import { readCount, suggest } from '../../core/configuration/values.ts';
import { type Entry, isMissing, readYaml, type Tree } from '../../core/configuration/yaml-tree.ts';
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
  const refusals = findingsOf(fileName);
  const shares = readShares(readYaml(text, refusals.note), factors, refusals.note);
  const findings = refusals.sorted();
  return findings.length > 0 ? { findings } : { shares };
}

function readShares(root: Tree | undefined, factors: Factors, refuse: Refuse): Shares {
  const entries = root === undefined ? [] : entriesOf(root, 'the file', refuse);
  const shares = factors.map(({ levels }) => levels.map(() => 1));
  const opens: { factor: number; level: number; from: number }[] = [];
  for (const entry of entries) {
    if (entry.key !== OPENS) {
      const factor = factorAt(entry, factors, refuse);
      if (factor !== undefined) shares[factor] = sharesAt(entry, factors[factor], refuse);
      continue;
    }
    for (const ofFactor of entriesOf(entry.value, OPENS, refuse)) {
      const factor = factorAt(ofFactor, factors, refuse);
      if (factor === undefined) continue;
      for (const one of entriesOf(ofFactor.value, ofFactor.key, refuse)) {
        const level = levelAt(one, factors[factor], refuse);
        const from = readCount(one, { min: 1, max: Number.MAX_SAFE_INTEGER }, refuse);
        if (level !== undefined && from !== undefined) opens.push({ factor, level, from });
      }
    }
  }
  refuseNobody(shares, opens, factors, entries, refuse);
  return { kind: 'shares', shares, opens };
}

/** Every participant needs a level. Levels only open, so the first participant has the least choice. */
function refuseNobody(
  shares: Shares['shares'],
  opens: Shares['opens'],
  factors: Factors,
  entries: readonly Entry[],
  refuse: Refuse,
): void {
  shares.forEach((ofFactor, factor) => {
    const { name = '' } = factors[factor] ?? {};
    const isLater = (level: number) =>
      opens.some((one) => one.factor === factor && one.level === level && one.from > 1);
    const of = (key: string) => entries.find((entry) => entry.key === key)?.line ?? 1;
    if (ofFactor.every((share) => share === 0))
      refuse(of(name), `all shares of ${quote(name)} are 0`, 'one of its levels needs a share above 0');
    else if (ofFactor.every((share, level) => share === 0 || isLater(level)))
      refuse(
        of(OPENS),
        `no level of ${quote(name)} is open for the first participant`,
        'leave levels that are open from the start out of opens',
      );
  });
}

/** A level that is left out has the share 0. */
function sharesAt(entry: Entry, factor: Factors[number] | undefined, refuse: Refuse): number[] {
  const shares = (factor?.levels ?? []).map(() => 0);
  for (const one of entriesOf(entry.value, entry.key, refuse)) {
    const level = levelAt(one, factor, refuse);
    const share = shareAt(one, refuse);
    if (level !== undefined && share !== undefined) shares[level] = share;
  }
  return shares;
}

function shareAt({ key, value }: Entry, refuse: Refuse): number | undefined {
  const share = value.kind === 'text' && value.plain ? parseShare(value.text) : undefined;
  if (share === undefined)
    refuse(
      value.line,
      `the share of ${quote(key)} is not a number from 0 to 1e15`,
      'write it as 0.25 or 120',
    );
  return share;
}

/** Keeps sums of shares finite. */
const MAX_SHARE = 1e15;

/** A number from 0 to `MAX_SHARE`; undefined if the text is not one. */
export function parseShare(text: string): number | undefined {
  const share = /^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return share <= MAX_SHARE ? share : undefined;
}

function factorAt({ key, line }: Entry, factors: Factors, refuse: Refuse): number | undefined {
  const names = factors.map(({ name }) => name);
  const factor = names.indexOf(key);
  if (factor >= 0) return factor;
  refuse(line, `the study has no factor ${quote(key)}`, suggest(key, names));
  return undefined;
}

function levelAt(
  { key, line }: Entry,
  factor: Factors[number] | undefined,
  refuse: Refuse,
): number | undefined {
  const { name = '', levels = [] } = factor ?? {};
  const level = levels.indexOf(key);
  if (level >= 0) return level;
  refuse(line, `factor ${quote(name)} has no level ${quote(key)}`, suggest(key, levels));
  return undefined;
}

function entriesOf(tree: Tree, what: string, refuse: Refuse): Entry[] {
  if (tree.kind === 'mapping') return tree.entries;
  const why = isMissing(tree) ? 'is empty' : 'is not a mapping';
  refuse(tree.line, `${what} ${why}`, 'write {name: number, name: number}, or name: number on lines below');
  return [];
}
