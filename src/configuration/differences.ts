/**
 * Where the studies file differs from the registration in the log. A study whose file has changed stops taking
 * participants: the change is neither applied nor silently ignored.
 */
import { canonicalJson } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import { quote } from '../base/text.ts';
import { LIFE_KEYS } from './life-settings.ts';

export type RegisteredStudy = {
  readonly configuration: StudyConfiguration;
  /** Decimal digits, as in the log. */
  readonly seed: string;
  readonly seedSource: 'configured' | 'drawn';
};

export type StudyInFile = { readonly configuration: StudyConfiguration; readonly seed: bigint | undefined };

/** A setting that differs. A side without this setting is absent. Seeds are described, but never shown. */
export type ConfigurationDifference = {
  /** Its name in the file: `w`, `treatments`, `factors` (their order), `factors.sex` (its levels), `starting_seed`. */
  readonly what: string;
  readonly registered?: string;
  readonly file?: string;
};

/**
 * The settings in which the two differ, in a fixed order. If there are none, the study may go on. Names are not
 * compared.
 */
export function configurationDifferences(
  registered: RegisteredStudy,
  file: StudyInFile,
): ConfigurationDifference[] {
  const was = registered.configuration;
  const is = file.configuration;
  return [
    ...differ('mode', was.mode, is.mode),
    ...differ('D', was.D, is.D),
    ...differ('urn_selection', was.urnSelection, is.urnSelection),
    ...differ('w', String(was.w), String(is.w)),
    ...differ('alpha', String(was.alpha), String(is.alpha)),
    ...differ('beta', String(was.beta), String(is.beta)),
    ...differ('id_pattern', was.idPattern && quote(was.idPattern), is.idPattern && quote(is.idPattern)),
    ...differ('treatments', list(was.treatments), list(is.treatments)),
    ...factorDifferences(was.factors, is.factors),
    ...LIFE_KEYS.flatMap((key) => differ(key, shown(was[key]), shown(is[key]))),
    ...seedDifferences(registered, file.seed),
    // targetEnrollment is only information for people: changing it does not change the design.
  ];
}

/**
 * The differences as lines for people. The last line says what to do. If there are no differences, there are no lines.
 * Use `withhold` for the service's output, which must not name treatments. Seeds are never shown.
 */
export function describeDifferences(
  differences: readonly ConfigurationDifference[],
  options: { secrets: 'show' | 'withhold' },
): string[] {
  if (differences.length === 0) return [];
  const lines = differences.map((difference) =>
    difference.what === 'treatments' && options.secrets === 'withhold'
      ? 'treatments differs (names, number or order; not shown here, see `urn studies check`)'
      : describe(difference),
  );
  return [
    ...lines,
    'To go on: restore the registered values in the studies file. A changed design needs a study with a new name; ' +
      'amendments are not supported yet.',
  ];
}

function describe({ what, registered, file }: ConfigurationDifference): string {
  return `${what} differs (registered: ${registered ?? 'none'}; file: ${file ?? 'none'})`;
}

type Factors = StudyConfiguration['factors'];

function factorDifferences(was: Factors, is: Factors): ConfigurationDifference[] {
  const levelsWere = new Map(was.map(({ name, levels }) => [name, list(levels)]));
  const levelsAre = new Map(is.map(({ name, levels }) => [name, list(levels)]));
  const names = [...new Set([...levelsWere.keys(), ...levelsAre.keys()])];
  const common = (ours: Factors, theirs: ReadonlyMap<string, string>): string =>
    list(ours.map(({ name }) => name).filter((name) => theirs.has(name)));
  return [
    ...differ('factors', common(was, levelsAre), common(is, levelsWere)),
    ...names.flatMap((name) => differ(`factors.${name}`, levelsWere.get(name), levelsAre.get(name))),
  ];
}

function seedDifferences(registered: RegisteredStudy, inFile: bigint | undefined): ConfigurationDifference[] {
  if (inFile === undefined) {
    return registered.seedSource === 'drawn'
      ? []
      : [{ what: 'starting_seed', registered: 'given in the file', file: 'removed' }];
  }
  if (inFile === BigInt(registered.seed)) return [];
  return registered.seedSource === 'drawn'
    ? [{ what: 'starting_seed', registered: 'drawn by the service', file: 'given' }]
    : [{ what: 'starting_seed', registered: 'given in the file', file: 'another one' }];
}

function differ(
  what: string,
  registered: string | undefined,
  file: string | undefined,
): ConfigurationDifference[] {
  if (registered === file) return [];
  return [{ what, ...(registered !== undefined && { registered }), ...(file !== undefined && { file }) }];
}

/** A setting as JSON, with its members in a fixed order; undefined for the default, which is not recorded. */
function shown(setting: unknown): string | undefined {
  return setting === undefined ? undefined : canonicalJson(setting);
}

/** Names in quotes, because they may contain commas. Equal texts mean equal lists. */
function list(names: readonly string[]): string {
  return `[${names.map(quote).join(', ')}]`;
}
