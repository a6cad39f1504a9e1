/** The settings of a study that concern its life after the registration. Settings with their default value are left out. */
import type { Limits, Policies, StudyConfiguration } from '../../../events/study.ts';
import type { Protocol } from '../../../events/text.ts';
import { defaultLevelCounts } from '../../../projections/design.ts';
import { isDay } from '../../base/day.ts';
import { nameProblem } from '../../base/names.ts';
import { quote } from '../../base/text.ts';
import type { Refuse } from './finding.ts';
import { readChoice, readCount, refuseMissing, suggest } from './values.ts';
import { type Entry, isMissing } from './yaml-tree.ts';

export const LIFE_KEYS = ['blinding', 'start', 'limits', 'policies', 'protocol'] as const;

type LifeSettings = Pick<StudyConfiguration, (typeof LIFE_KEYS)[number]>;

/** The names of the policies in a studies file. */
export const POLICY_KEYS = {
  stopAtLimit: 'stop_at_limit',
  levelCounts: 'level_counts',
  voidCounts: 'void_counts',
  forcedCounts: 'forced_counts',
} as const satisfies Record<keyof Policies, string>;

const MAX_LIMIT = 1_000_000_000;
const YES_NO = ['true', 'false'] as const;

export interface ReadLifeSettings {
  readonly settings: LifeSettings;
  /** As written, even if it is the default; undefined if it is left out. */
  readonly levelCounts: Policies['levelCounts'];
}

/** @param factors of the study, whose levels the limits name */
export function readLifeSettings(
  entries: readonly Entry[],
  factors: StudyConfiguration['factors'],
  refuse: Refuse,
): ReadLifeSettings {
  const own = (key: (typeof LIFE_KEYS)[number]): Entry | undefined => {
    const found = entries.find((candidate) => candidate.key === key);
    return found && !refuseMissing(found, refuse) ? found : undefined;
  };
  const choice = <T extends string>(entry: Entry | undefined, choices: readonly T[]) =>
    entry && readChoice(entry, choices, refuse);
  const blinding = choice(own('blinding'), ['open', 'blinded']) === 'blinded' ? 'blinded' : undefined;
  const start = choice(own('start'), ['open', 'paused']) === 'paused' ? 'paused' : undefined;
  const limits = readLimits(own('limits'), factors, refuse);
  const { policies, levelCounts } = readPolicies(own('policies'), blinding, refuse);
  const protocol = readProtocol(own('protocol'), refuse);
  const settings: LifeSettings = {
    ...(blinding && { blinding }),
    ...(start && { start }),
    ...(limits && { limits }),
    ...(policies && { policies }),
    ...(protocol && { protocol }),
  };
  return { settings, levelCounts };
}

/** The known entries of the mapping. Others are refused. */
function membersOf(entry: Entry, known: readonly string[], refuse: Refuse): ReadonlyMap<string, Entry> {
  const members = new Map<string, Entry>();
  if (entry.value.kind !== 'mapping') {
    refuse(entry.line, `${entry.key} is not a mapping`, `write {${known.join(': …, ')}: …}`);
    return members;
  }
  for (const member of entry.value.entries)
    if (!known.includes(member.key))
      refuse(member.line, `${entry.key} has no ${quote(member.key)}`, suggest(member.key, known));
    else if (!refuseMissing(member, refuse)) members.set(member.key, member);
  return members;
}

function readPolicies(
  entry: Entry | undefined,
  blinding: StudyConfiguration['blinding'],
  refuse: Refuse,
): { readonly policies?: Policies; readonly levelCounts: Policies['levelCounts'] } {
  if (!entry) return { levelCounts: undefined };
  const members = membersOf(entry, Object.values(POLICY_KEYS), refuse);
  const choice = <T extends string>(key: string, choices: readonly T[]): T | undefined => {
    const member = members.get(key);
    return member && readChoice(member, choices, refuse);
  };
  const levelCounts = choice('level_counts', ['as-randomized', 'as-corrected']);
  const policies = {
    ...(choice('stop_at_limit', YES_NO) === 'true' && { stopAtLimit: true as const }),
    ...(levelCounts && levelCounts !== defaultLevelCounts(blinding) && { levelCounts }),
    ...(choice('void_counts', ['kept', 'removed']) === 'removed' && { voidCounts: 'removed' as const }),
    ...(choice('forced_counts', ['counted', 'not-counted']) === 'not-counted' && {
      forcedCounts: 'not-counted' as const,
    }),
  };
  return { ...(Object.keys(policies).length > 0 && { policies }), levelCounts };
}

function readLimits(
  entry: Entry | undefined,
  factors: StudyConfiguration['factors'],
  refuse: Refuse,
): Limits | undefined {
  if (!entry) return undefined;
  const members = membersOf(entry, ['total', 'levels'], refuse);
  const total = members.get('total');
  const max = total && readCount(total, { min: 1, max: MAX_LIMIT }, refuse);
  const levels = readLevelLimits(members.get('levels'), factors, refuse);
  const limits = { ...(max !== undefined && { total: max }), ...(levels.length > 0 && { levels }) };
  return Object.keys(limits).length > 0 ? limits : undefined;
}

/** In the order of the configuration, whatever the order in the file. */
function readLevelLimits(
  entry: Entry | undefined,
  factors: StudyConfiguration['factors'],
  refuse: Refuse,
): NonNullable<Limits['levels']> {
  if (!entry) return [];
  const byFactor = membersOf(
    entry,
    factors.map(({ name }) => name),
    refuse,
  );
  return factors.flatMap(({ name, levels }) => {
    const limited = byFactor.get(name);
    if (!limited) return [];
    const byLevel = membersOf(limited, levels, refuse);
    return levels.flatMap((level) => {
      const found = byLevel.get(level);
      const max = found && readCount(found, { min: 1, max: MAX_LIMIT }, refuse);
      return max === undefined ? [] : [{ factor: name, level, max }];
    });
  });
}

function readProtocol(entry: Entry | undefined, refuse: Refuse): Protocol | undefined {
  if (!entry) return undefined;
  const members = membersOf(entry, ['version', 'date'], refuse);
  const textOf = (key: string): string | undefined => {
    const member = members.get(key);
    if (!member) return undefined;
    if (member.value.kind === 'text' && !isMissing(member.value) && !nameProblem(member.value.text))
      return member.value.text;
    refuse(member.line, `${key} of the protocol is not a text`, 'write it in quotes');
    return undefined;
  };
  const version = textOf('version');
  const date = textOf('date');
  if (!members.has('version'))
    refuse(entry.line, 'the protocol has no version', 'write {version: "2.0", date: "2027-01-10"}');
  if (date !== undefined && (!/^\d{4}-\d{2}-\d{2}$/.test(date) || !isDay(date)))
    refuse(
      entry.line,
      `the protocol's date ${quote(date)} is not a day of the calendar`,
      'write it as "2027-01-10"',
    );
  return version === undefined ? undefined : { version, ...(date !== undefined && { date }) };
}
