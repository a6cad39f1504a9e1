/** One study of the studies file. */
import type { Method, Policies, StudyConfiguration, UrnConfiguration } from '../../../events/study.ts';
import { nameProblem, quote } from '../../base/text.ts';
import { defaultLevelCounts } from '../model/design.ts';
import type { StudyInFile } from './differences.ts';
import { type Finding, hinted } from './finding.ts';
import { DEFAULTS, dependentSettings, type MethodSetting, methodSetting, SETTINGS, URN } from './settings.ts';
import {
  type Mapping,
  type Members,
  type RefuseAt,
  readMembers,
  Scalar,
  suggest,
  type YamlValues,
} from './yaml.ts';

/** A study as read from the file, with its effective values, after defaults. */
export type ReadStudy = StudyInFile & {
  /** What its urns would be, if it had any: for comparison. */
  readonly urn: Pick<UrnConfiguration, 'D' | 'w' | 'alpha' | 'beta'>;
  /** The line, from 1, of a setting (`w`, `factors`) or of a factor (`factors.sex`); of the study's name if it has none. */
  readonly lineOf: (setting: string) => number;
  /** Whether the file says it, for the study or, of the urn, for all studies. */
  readonly isGiven: (setting: string) => boolean;
};

export type ConfiguredStudy = Omit<ReadStudy, 'isGiven'> & {
  readonly file: string;
  /** Why the file is refused if the study is not yet in the log. */
  readonly refusedIfNew: readonly Finding[];
};

/** What the top level of a file says of the urn, for all its studies. */
interface TopLevel {
  readonly urn: Members<typeof URN>;
  readonly lineOf: YamlValues['lineOf'];
}

export const STUDY_KEYS: readonly string[] = [
  ...Object.keys(SETTINGS),
  ...Object.keys(dependentSettings([], [], null)),
  'method',
];

/** Reads the study called `name`. Settings that are refused are missing in the result. */
export function readStudy(name: string, written: Mapping, top: TopLevel, refuseInFile: RefuseAt): ReadStudy {
  const refuse: RefuseAt = (path, message) =>
    refuseInFile([name, ...path], `study ${quote(name)}: ${message}`);
  const nameIssue = nameProblem(name);
  if (nameIssue) refuse([], `its name ${hinted(nameIssue)}`);
  for (const key of written.keys()) if (!STUDY_KEYS.includes(key)) refuse([key], unknownKey(key));
  for (const key of ['treatments', 'factors'])
    if (!written.has(key))
      refuse([], `it has no ${key} (hint: add "${key}:" below the study's name, indented)`);

  const own = readMembers(written, SETTINGS, refuse);
  const dependent = dependentSettings(own.treatments, own.factors, written.get('ratio'));
  const settings = { ...top.urn, ...own, ...readMembers(written, dependent, refuse) };
  const { method, parameters } = readMethod(written, settings, refuse);
  const { D, w, alpha, beta } = { ...DEFAULTS, ...settings };
  return {
    configuration: configurationOf(name, settings, method),
    parameters,
    urn: { D, w, alpha, beta },
    levelCounts: settings.policies?.level_counts,
    seed: settings.starting_seed,
    lineOf: (setting) => {
      const [key = '', ...member] = setting.split(/\.(.*)/s, 2);
      return top.lineOf(!written.has(key) && Object.hasOwn(top.urn, key) ? [key] : [name, key, ...member]);
    },
    isGiven: (setting) => written.has(setting) || Object.hasOwn(top.urn, setting),
  };
}

type Settings = Members<typeof SETTINGS> & Members<ReturnType<typeof dependentSettings>>;

/** Read after the treatments, their ratio and the factors, which it is about. */
function readMethod(written: Mapping, settings: Settings, refuse: RefuseAt): MethodSetting {
  const { treatments = [], factors = [], ratio } = settings;
  const slots = ratio?.reduce((sum, share) => sum + share, 0) ?? treatments.length;
  const { method: read } = readMembers(written, { method: methodSetting({ factors, slots }) }, refuse);
  const given = written.get('method');
  const name = given instanceof Map ? given.get('name') : undefined;
  const words =
    name instanceof Scalar && Object.hasOwn(METHOD_NAMES, name.text) ? METHOD_NAMES[name.text] : undefined;
  for (const key of Object.keys(URN))
    if (words !== undefined && written.has(key))
      refuse([key], `${key} belongs to the urn, and this study has ${words} (hint: leave it out)`);
  if (read?.method?.name === 'list')
    for (const [key, why] of Object.entries(NOT_WITH_A_LIST))
      if (written.has(key)) refuse([key], `${key}: ${why} (hint: leave it out)`);
  return read ?? { method: undefined, parameters: {} };
}

const METHOD_NAMES: Readonly<Record<string, string>> = {
  complete: 'complete randomization',
  blocks: 'blocks',
  minimization: 'minimization',
  list: 'a list',
};

const NOT_WITH_A_LIST = {
  ratio: 'a list holds its own ratio',
  starting_seed: 'from a list nothing is drawn',
};

function configurationOf(name: string, settings: Settings, method: Method | undefined): StudyConfiguration {
  const { mode = DEFAULTS.mode, treatments = [], factors = [] } = settings;
  return {
    ...{ name, mode },
    ...(method ? { method } : urnOf({ ...DEFAULTS, ...settings })),
    ...{ treatments, factors },
    ...stated({
      idPattern: settings.id_pattern,
      targetEnrollment: settings.target_enrollment,
      blinding: settings.blinding,
      start: settings.start,
      limits: settings.limits,
      policies: policiesOf(settings),
      protocol: settings.protocol,
      ratio: settings.ratio,
      visits: settings.visits,
    }),
  };
}

function urnOf({ D, urn_selection, w, alpha, beta }: Required<Members<typeof URN>>) {
  return { D, urnSelection: urn_selection, w, alpha, beta };
}

/** Those that differ from the default; undefined if none does. */
function policiesOf({ policies = {}, blinding }: Members<typeof SETTINGS>): Policies | undefined {
  const { stop_at_limit, level_counts, void_counts, forced_counts } = policies;
  const others = stated({
    stopAtLimit: stop_at_limit,
    levelCounts: level_counts === defaultLevelCounts(blinding) ? undefined : level_counts,
    voidCounts: void_counts,
    forcedCounts: forced_counts,
  });
  return Object.keys(others).length > 0 ? others : undefined;
}

/** Without what is undefined. */
const stated = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

const unknownKey = (key: string): string =>
  key === 'db'
    ? 'db is inside the study (hint: move it to the top level, or remove it)'
    : `unknown key ${quote(key)} (hint: ${suggest(key, STUDY_KEYS)})`;
