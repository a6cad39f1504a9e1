/**
 * Where the studies file differs from the design in force. If the file describes a design that a study never had, the study
 * takes no participants: the change is neither applied nor silently ignored. If it describes an earlier design, the study
 * continues: it was amended, and the file is not up to date.
 *
 * The service prints differences: seeds are described, but never shown, and so are parameters that nobody at a site may know.
 */
import { canonicalJson } from '../../../events/record.ts';
import type { Limits, MethodParameters, Policies, StudyConfiguration } from '../../../events/study.ts';
import { quote } from '../../base/text.ts';
import { greatestCommonDivisor } from '../../base/whole-numbers.ts';
import {
  activeFactors,
  type Design,
  defaultLevelCounts,
  type Factor,
  isEqualAllocation,
  methodText,
  openLevels,
  openTreatments,
  registeredDesign,
} from '../model/design.ts';
import { slotsOf } from '../study/force.ts';
import { POLICY_KEYS } from './settings.ts';

export type RegisteredConfiguration = {
  readonly configuration: StudyConfiguration;
  readonly parameters?: MethodParameters;
  /** Decimal digits, as in the log. */
  readonly seed: string;
  readonly seedSource: 'configured' | 'drawn';
};

export type StudyInFile = {
  readonly configuration: StudyConfiguration;
  /** What of the method nobody at a site may know; absent: nothing. */
  readonly parameters?: MethodParameters;
  /** `level_counts` as written, even if it is the default; undefined if it is left out. */
  readonly levelCounts: Policies['levelCounts'];
  readonly seed: bigint | undefined;
};

export interface Comparison {
  readonly result: 'agrees' | 'behind' | 'differs';
  /** From the design in force. */
  readonly differences: readonly ConfigurationDifference[];
}

/** A setting that differs. A side without this setting is absent. */
export type ConfigurationDifference = {
  /** Its name in the file: `w`, `treatments`, `factors` (their order), `factors.sex` (its levels), `starting_seed`. */
  readonly what: string;
  readonly inForce?: string;
  readonly file?: string;
};

/** @param designs all that the study has had, in order */
export function compare(
  registered: RegisteredConfiguration,
  designs: readonly Design[],
  file: StudyInFile,
): Comparison {
  const [inForce, ...earlier] = designs.toReversed();
  if (!inForce) throw new RangeError('a registered study has a design');
  const differences = configurationDifferences(registered, inForce, file);
  if (differences.length === 0) return { result: 'agrees', differences };
  const isBehind = earlier.some((design) => configurationDifferences(registered, design, file).length === 0);
  return { result: isBehind ? 'behind' : 'differs', differences };
}

type PolicyName = keyof Design['policies'];
export const POLICY_NAMES = Object.keys(POLICY_KEYS) as readonly PolicyName[];

/**
 * The settings in which the two differ, in a fixed order. Names are not compared, and neither are the target and a
 * protocol that the file leaves out, which are information for people.
 * @param design the one with which to compare: the one in force, or an earlier one
 */
export function configurationDifferences(
  registered: RegisteredConfiguration,
  design: Design,
  file: StudyInFile,
): ConfigurationDifference[] {
  const was = registered.configuration;
  const requested = requestedDesign(registered, file);
  const { protocol } = requested;
  return [
    ...differ('mode', was.mode, requested.mode),
    ...differ('start', was.start ?? 'open', file.configuration.start ?? 'open'),
    ...methodDifferences(design.method, requested.method),
    ...(design.method.name === requested.method.name ? parameterDifferences(registered, design, file) : []),
    ...differ(
      'id_pattern',
      design.idPattern && quote(design.idPattern),
      requested.idPattern && quote(requested.idPattern),
    ),
    ...treatmentDifferences(was.treatments, design, requested.treatments),
    ...ratioDifferences(design, requested),
    ...factorDifferences(was.factors, activeFactors(design), requested.factors),
    ...differ('blinding', design.blinding, requested.blinding),
    ...differ(
      'limits',
      settingText(statedLimits(design)),
      settingText(limitsInOrder(requested.limits, design)),
    ),
    ...POLICY_NAMES.flatMap((name) =>
      differ(
        `policies.${POLICY_KEYS[name]}`,
        String(design.policies[name]),
        String(requested.policies[name]),
      ),
    ),
    ...differ('visits', quotedVisits(design.visits), quotedVisits(requested.visits)),
    ...(protocol ? differ('protocol', settingText(design.protocol), settingText(protocol)) : []),
    ...seedDifferences(registered, file.seed),
  ];
}

/** What the file asks for, as a design. */
export function requestedDesign({ configuration }: RegisteredConfiguration, file: StudyInFile): Design {
  const requested = registeredDesign(file.configuration);
  // The default was fixed at the registration: a different blinding does not change it.
  const levelCounts = file.levelCounts ?? defaultLevelCounts(configuration.blinding);
  return { ...requested, policies: { ...requested.policies, levelCounts } };
}

function differ(
  what: string,
  inForce: string | undefined,
  file: string | undefined,
): ConfigurationDifference[] {
  if (inForce === file) return [];
  return [{ what, ...(inForce !== undefined && { inForce }), ...(file !== undefined && { file }) }];
}

function methodDifferences(was: Design['method'], requested: Design['method']): ConfigurationDifference[] {
  if (was.name !== 'urn' || requested.name !== 'urn')
    return differ('method', methodText(was), methodText(requested));
  const numbers = ['w', 'alpha', 'beta'] as const;
  return [
    ...differ('D', was.D, requested.D),
    ...differ('urn_selection', was.urnSelection, requested.urnSelection),
    ...numbers.flatMap((name) => differ(name, String(was[name]), String(requested[name]))),
  ];
}

/** Named without their values: differences are printed by the service. */
function parameterDifferences(
  registered: RegisteredConfiguration,
  { factors }: Design,
  { parameters: requested = {} }: StudyInFile,
): ConfigurationDifference[] {
  const { minimization, ...was } = registered.parameters ?? {};
  const { weights, ...others } = minimization ?? {};
  const active = reduced(weights?.filter((_, factor) => factors[factor]?.isRetired !== true));
  const inForce = minimization ? { minimization: { ...others, ...(active && { weights: active }) } } : was;
  return canonicalJson(inForce) === canonicalJson(requested)
    ? []
    : [{ what: 'method', inForce: 'other parameters', file: 'these parameters' }];
}

/** Weights without a common divisor; undefined if they are equal. */
function reduced(weights: readonly number[] = []): number[] | undefined {
  const divisor = weights.reduce(greatestCommonDivisor, 0);
  const least = weights.map((weight) => weight / divisor);
  return least.every((weight) => weight === 1) ? undefined : least;
}

function treatmentDifferences(
  registered: readonly string[],
  design: Design,
  listed: readonly string[],
): ConfigurationDifference[] {
  const open = openTreatments(design);
  return meansOpenNames(open, new Set(registered), listed)
    ? []
    : differ('treatments', quotedList(open), quotedList(listed));
}

/**
 * Whether a file that lists these names means the open ones. The order matters only for the names of the registration:
 * nobody would know that of names added later.
 * @param first the names of the registration
 */
function meansOpenNames(
  open: readonly string[],
  first: ReadonlySet<string>,
  listed: readonly string[],
): boolean {
  const ordered = (names: readonly string[]) => quotedList(names.filter((name) => first.has(name)));
  return ordered(open) === ordered(listed) && quotedList(open.toSorted()) === quotedList(listed.toSorted());
}

/** Names in quotes, because they may contain commas. Equal texts mean equal lists. */
function quotedList(names: readonly string[]): string {
  return `[${names.map(quote).join(', ')}]`;
}

/** For the arms that both have: a new arm brings its own number. No arm is named. */
function ratioDifferences(design: Design, requested: Design): ConfigurationDifference[] {
  const common = openTreatments(design).filter((treatment) => requested.treatments.includes(treatment));
  return differ('ratio', ratioOfThese(common, design), ratioOfThese(common, requested));
}

/** Undefined if each of them has one slot. */
function ratioOfThese(treatments: readonly string[], design: Design): string | undefined {
  const ratio = treatments.map((treatment) => slotsOf(design, treatment).length);
  return isEqualAllocation(ratio) ? undefined : ratio.join(':');
}

function factorDifferences(
  registered: StudyConfiguration['factors'],
  inForce: readonly Factor[],
  requested: readonly Factor[],
): ConfigurationDifference[] {
  const names = [...new Set([...inForce, ...requested].map(({ name }) => name))];
  const find = (factors: readonly Factor[], wanted: string) => factors.find(({ name }) => name === wanted);
  const common = (ours: readonly Factor[], theirs: readonly Factor[]): string =>
    quotedList(ours.map(({ name }) => name).filter((name) => find(theirs, name)));
  return [
    ...differ('factors', common(inForce, requested), common(requested, inForce)),
    ...names.flatMap((name) => {
      const [ours, theirs] = [find(inForce, name), find(requested, name)];
      const first = registered.find((factor) => factor.name === name)?.levels.length ?? 0;
      if (
        ours &&
        theirs &&
        meansOpenNames(openLevels(ours), new Set(ours.levels.slice(0, first)), theirs.levels)
      )
        return [];
      return differ(
        `factors.${name}`,
        ours && quotedList(openLevels(ours)),
        theirs && quotedList(theirs.levels),
      );
    }),
  ];
}

type LevelLimit = NonNullable<Limits['levels']>[number];

/** What a file states if it agrees with the design: the limits without those of closed levels and retired factors. */
function statedLimits(design: Design): Limits | undefined {
  return limitsOf(
    design.limits?.total,
    levelLimits(design).filter((limit) => !isLeftOut(design, limit)),
  );
}

/**
 * The limits of a file in the order of the design, so that the same limits have a single form. Limits of a factor that is
 * not asked for are left out: that difference is reported for the factor.
 */
function limitsInOrder(file: Limits | undefined, design: Design): Limits | undefined {
  const names = activeFactors(design).map(({ name }) => name);
  const stated = (file?.levels ?? []).filter(({ factor }) => names.includes(factor));
  return limitsOf(file?.total, inDesignOrder(stated, design));
}

/** All limits of a design that follows the file: closed levels and retired factors keep theirs. */
export function resultingLimits(file: Limits | undefined, design: Design): Limits | undefined {
  const stated = limitsInOrder(file, design)?.levels ?? [];
  const kept = levelLimits(design).filter((limit) => isLeftOut(design, limit));
  return limitsOf(file?.total, inDesignOrder([...stated, ...kept], design));
}

function inDesignOrder(limits: readonly LevelLimit[], { factors }: Design): readonly LevelLimit[] {
  const known = factors.flatMap((factor) =>
    factor.levels.flatMap((name) =>
      limits.filter(({ factor: of, level }) => of === factor.name && level === name),
    ),
  );
  return [...known, ...limits.filter((limit) => !known.includes(limit))];
}

function levelLimits({ limits }: Design): readonly LevelLimit[] {
  return limits?.levels ?? [];
}

function isLeftOut({ factors }: Design, { factor, level }: LevelLimit): boolean {
  const found = factors.find(({ name }) => name === factor);
  return found !== undefined && (found.isRetired || found.closed.includes(level));
}

/** Undefined without a limit. */
function limitsOf(total: number | undefined, levels: readonly LevelLimit[]): Limits | undefined {
  if (total === undefined && levels.length === 0) return undefined;
  return { ...(total !== undefined && { total }), ...(levels.length > 0 && { levels: [...levels] }) };
}

/** A setting as JSON, with its members in a fixed order. */
function settingText(setting: unknown): string | undefined {
  return setting === undefined ? undefined : canonicalJson(setting);
}

/** Undefined if there are none. The order matters. */
function quotedVisits(visits: readonly string[]): string | undefined {
  return visits.length > 0 ? quotedList(visits) : undefined;
}

function seedDifferences(
  registered: RegisteredConfiguration,
  inFile: bigint | undefined,
): ConfigurationDifference[] {
  if (inFile === undefined) {
    return registered.seedSource === 'drawn'
      ? []
      : [{ what: 'starting_seed', inForce: 'given in the file', file: 'removed' }];
  }
  if (inFile === BigInt(registered.seed)) return [];
  return registered.seedSource === 'drawn'
    ? [{ what: 'starting_seed', inForce: 'drawn by the service', file: 'given' }]
    : [{ what: 'starting_seed', inForce: 'given in the file', file: 'a different one' }];
}

/**
 * The differences as lines for people. The last line says what to do. If there are no differences, there are no lines.
 * Use `withhold` for the service's output, which must not name treatments.
 */
export function describeComparison(
  { result, differences }: Comparison,
  { secrets }: { secrets: 'show' | 'withhold' },
): string[] {
  if (differences.length === 0) return [];
  const lines = differences.map((difference) =>
    difference.what === 'treatments' && secrets === 'withhold'
      ? 'treatments differs (names, number or order; not shown here, see `urn studies check`)'
      : describeDifference(difference),
  );
  return [...lines, result === 'behind' ? TO_CATCH_UP : TO_GO_ON];
}

const TO_CATCH_UP =
  'The file describes an earlier design, and the study continues under the one in force. Write that one into the file.';
const TO_GO_ON =
  'To continue: write the design in force into the studies file, or record the change with `urn studies amend`. What an ' +
  'amendment cannot change needs a study with a new name.';

export function describeDifference({ what, inForce, file }: ConfigurationDifference): string {
  return `${what} differs (in force: ${inForce ?? 'none'}; file: ${file ?? 'none'})`;
}
