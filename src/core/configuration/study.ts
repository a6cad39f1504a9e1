/** One study of the studies file. */
import type { Policies, StudyConfiguration } from '../../../events/study.ts';
import { nameProblem } from '../../base/names.ts';
import { quote } from '../../base/text.ts';
import { MAX_PATTERN_LENGTH } from '../model/linear-pattern.ts';
import type { Finding, Refuse } from './finding.ts';
import { LIFE_KEYS, readLifeSettings } from './life-settings.ts';
import { readRatio } from './ratio-setting.ts';
import { readUrnSettings, URN_KEYS, type UrnSettings } from './urn-settings.ts';
import {
  factorNameProblem,
  readChoice,
  readCount,
  readNames,
  readWholeNumber,
  refuseMissing,
  suggest,
} from './values.ts';
import { readVisits } from './visits-setting.ts';
import { type Entry, isMissing } from './yaml-tree.ts';

const OWN_KEYS = [
  'starting_seed',
  'mode',
  'id_pattern',
  'target_enrollment',
  'treatments',
  'ratio',
  'factors',
  'visits',
] as const;
export const STUDY_KEYS: readonly string[] = [...URN_KEYS, ...OWN_KEYS, ...LIFE_KEYS];

export type ConfiguredStudy = {
  /** Effective values, after defaults. */
  readonly configuration: StudyConfiguration;
  /** `level_counts` as written, even if it is the default; undefined if it is left out. */
  readonly levelCounts: Policies['levelCounts'];
  /** `starting_seed`, if the file gives one. */
  readonly seed: bigint | undefined;
  readonly file: string;
  /** The line, from 1, of a setting (`w`, `factors`) or of a factor (`factors.sex`); of the study's name if it has none. */
  readonly lineOf: (setting: string) => number;
  /** Why the file is refused if the study is not yet in the log. */
  readonly refusedIfNew: readonly Finding[];
};

/** A study as read from the file. `lines` has the line of each setting and, such as `factors.sex`, of each factor. */
export type ReadStudy = {
  readonly configuration: StudyConfiguration;
  readonly levelCounts: Policies['levelCounts'];
  readonly seed: bigint | undefined;
  readonly line: number;
  readonly lines: ReadonlyMap<string, number>;
};

/** Reads the study at `entry`, whose value must be a mapping. Refused settings are missing in the result. */
export function readStudy(entry: Entry, defaults: UrnSettings, refuseInFile: Refuse): ReadStudy {
  const refuse: Refuse = (line, reason, hint) =>
    refuseInFile(line, `study ${quote(entry.key)}: ${reason}`, hint);
  const nameIssue = nameProblem(entry.key);
  if (nameIssue) refuse(entry.line, `its name ${nameIssue.reason}`, nameIssue.hint);

  const entries = entry.value.kind === 'mapping' ? entry.value.entries : [];
  for (const { key, line } of entries) if (!STUDY_KEYS.includes(key)) refuseUnknown(key, line, refuse);
  const urn = readUrnSettings(entries, defaults, refuse);
  const own = (key: (typeof OWN_KEYS)[number]): Entry | undefined => {
    const found = entries.find((candidate) => candidate.key === key);
    return found && !refuseMissing(found, refuse) ? found : undefined;
  };
  const mode = own('mode');
  const idPattern = readIdPattern(own('id_pattern'), refuse);
  const target = own('target_enrollment');
  const targetEnrollment = target && readCount(target, { min: 0, max: Number.MAX_SAFE_INTEGER }, refuse);
  const seed = readSeed(own('starting_seed'), refuse);
  for (const key of ['treatments', 'factors']) {
    if (!entries.some((candidate) => candidate.key === key)) {
      refuse(entry.line, `it has no ${key}`, `add "${key}:" below the study's name, indented`);
    }
  }
  const factors = readFactors(own('factors'), refuse);
  const treatments = readTreatments(own('treatments'), refuse);
  // Without treatments, the numbers of a ratio mean nothing, and one problem is enough to report.
  const ratio = treatments.length > 0 ? readRatio(own('ratio'), treatments, refuse) : undefined;
  const visits = readVisits(own('visits'), treatments, refuse);
  const { settings, levelCounts } = readLifeSettings(entries, factors, refuse);
  const configuration: StudyConfiguration = {
    name: entry.key,
    mode: (mode && readChoice(mode, ['test', 'live'], refuse)) ?? 'live',
    D: urn.D.value,
    urnSelection: urn.urn_selection.value,
    w: urn.w.value,
    alpha: urn.alpha.value,
    beta: urn.beta.value,
    treatments,
    factors,
    ...(idPattern !== undefined && { idPattern }),
    ...(targetEnrollment !== undefined && { targetEnrollment }),
    ...settings,
    ...(ratio && { ratio }),
    ...(visits && { visits }),
  };
  return { configuration, levelCounts, seed, line: entry.line, lines: linesOf(entries, urn) };
}

/** A setting of the urn may also be at the top level of the file. */
function linesOf(entries: readonly Entry[], urn: UrnSettings): Map<string, number> {
  const factors = entries.find(({ key }) => key === 'factors')?.value;
  return new Map([
    ...URN_KEYS.flatMap((key): [string, number][] => {
      const { line } = urn[key];
      return line === undefined ? [] : [[key, line]];
    }),
    ...entries.map(({ key, line }): [string, number] => [key, line]),
    ...(factors?.kind === 'mapping' ? factors.entries : []).map(({ key, line }): [string, number] => [
      `factors.${key}`,
      line,
    ]),
  ]);
}

function readTreatments(entry: Entry | undefined, refuse: Refuse): string[] {
  if (!entry) return [];
  const treatments = readNames(entry, 'treatment', refuse);
  if (entry.value.kind === 'list' && entry.value.items.length < 2) {
    refuse(entry.line, 'it has fewer than two treatments', 'list at least two');
  }
  return treatments;
}

function readFactors(entry: Entry | undefined, refuse: Refuse): StudyConfiguration['factors'] {
  if (!entry) return [];
  if (entry.value.kind !== 'mapping') {
    refuse(
      entry.line,
      'the factors are not a mapping',
      'write each as "name: [level, level]" on a line of its own',
    );
    return [];
  }
  if (entry.value.entries.length === 0) {
    refuse(
      entry.line,
      'it has no factor',
      'add at least one; an unstratified trial has one factor with one level',
    );
  }
  return entry.value.entries.map((factor) => {
    const refuseFactor: Refuse = (line, reason, hint) =>
      refuse(line, `factor ${quote(factor.key)} ${reason}`, hint);
    const problem = factorNameProblem(factor.key);
    if (problem) refuseFactor(factor.line, problem.reason, problem.hint);
    const { value } = factor;
    if (isMissing(value) || (value.kind === 'list' && value.items.length === 0)) {
      refuseFactor(factor.line, 'has no level', 'list its levels, or remove the factor');
      return { name: factor.key, levels: [] };
    }
    const refuseLevel: Refuse = (line, reason, hint) =>
      refuse(line, `factor ${quote(factor.key)}: ${reason}`, hint);
    return { name: factor.key, levels: readNames(factor, 'level', refuseLevel) };
  });
}

function readSeed(entry: Entry | undefined, refuse: Refuse): bigint | undefined {
  if (!entry) return undefined;
  const seed = readWholeNumber(entry.value);
  if (typeof seed === 'bigint') return seed;
  refuse(entry.value.line, `starting_seed ${seed.reason}`, seed.hint);
  return undefined;
}

/** The pattern must also compile by itself: `a)|(?:b` would compile only inside the group that it breaks out of. */
function readIdPattern(entry: Entry | undefined, refuse: Refuse): string | undefined {
  if (!entry) return undefined;
  const { value } = entry;
  const pattern = value.kind === 'text' ? value.text : '';
  if (pattern === '' || nameProblem(pattern)) {
    refuse(value.line, 'id_pattern is not a regular expression on one line', 'put it in single quotes');
    return undefined;
  }
  if (pattern.length > MAX_PATTERN_LENGTH) {
    refuse(value.line, `id_pattern is longer than ${MAX_PATTERN_LENGTH} characters`, 'write a shorter one');
    return undefined;
  }
  try {
    new RegExp(pattern, 'u');
    new RegExp(`^(?:${pattern})$`, 'u');
    return pattern;
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : 'unknown reason';
    refuse(
      value.line,
      `id_pattern cannot be used: ${reason}`,
      'write it in JavaScript syntax, e.g. [0-9]{3}-[0-9]{4}',
    );
    return undefined;
  }
}

function refuseUnknown(key: string, line: number, refuse: Refuse): void {
  if (key === 'db') refuse(line, 'db is inside the study', 'move it to the top level, or remove it');
  else refuse(line, `unknown key ${quote(key)}`, suggest(key, STUDY_KEYS));
}
