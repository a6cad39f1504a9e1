/**
 * The design of a study: as registered, as each amendment leaves it, and in words; and which ratios and visits a design can
 * have. Defaults are written out. It names no participant and no count. Pure.
 *
 * Levels have their present names throughout; `levelNow` finds the present name of a level from any earlier one.
 */
import type { Protocol } from '../../../events/define.ts';
import type {
  Amendment,
  DesignChange,
  ImbalanceMeasure,
  Limits,
  Method,
  Policies,
  StudyConfiguration,
} from '../../../events/study.ts';
import { greatestCommonDivisor } from '../../base/whole-numbers.ts';
import { counted } from '../../base/wording.ts';

/** What is in force. */
export interface Design {
  /** Number of the last amendment; 0 without. */
  readonly amendment: number;
  readonly name: string;
  readonly mode: StudyConfiguration['mode'];
  /** All there ever were: those of the registration in its order, then those that were added. */
  readonly treatments: readonly string[];
  /** Those that take no new participants. */
  readonly closedTreatments: readonly string[];
  /** Those of them on which nobody gets packs any more. */
  readonly stoppedTreatments: readonly string[];
  /** The treatment of each place in an urn. Unless there is a ratio, each treatment has one. */
  readonly slots: readonly string[];
  /** How often the urns began anew. */
  readonly epoch: number;
  /** Revision from which on the urns count participants: that of the last restart; 0 without. */
  readonly epochBegan: number;
  readonly factors: readonly Factor[];
  /** As far as everybody may know it. No amendment changes it, but for the balls of urns. */
  readonly method: UrnMethod | Method;
  readonly idPattern: string | undefined;
  readonly target: number | undefined;
  readonly blinding: 'open' | 'blinded';
  readonly limits: Limits | undefined;
  readonly policies: {
    readonly stopAtLimit: boolean;
    readonly levelCounts: 'as-randomized' | 'as-corrected';
    readonly voidCounts: 'kept' | 'removed';
    readonly forcedCounts: 'counted' | 'not-counted';
  };
  readonly protocol: Protocol | undefined;
  /** Those at which sites give out packs, in order. */
  readonly visits: readonly string[];
}

export interface Factor {
  readonly name: string;
  /** All there ever were, by their present names: those of the registration in its order, then those that were added. */
  readonly levels: readonly string[];
  /** Those that take no new participants. */
  readonly closed: readonly string[];
  /** Former names of levels. Such a name belongs to its level for good. */
  readonly earlierNames: readonly EarlierName[];
  /** Then its urns are never drawn from, and new participants have no level of it. */
  readonly isRetired: boolean;
}

interface EarlierName {
  readonly name: string;
  /** The name of the level now. */
  readonly now: string;
  /** Whether requests may still use it. */
  readonly isAlias: boolean;
}

/** What urns hold, and which is drawn from. */
interface UrnMethod {
  readonly name: 'urn';
  readonly D: ImbalanceMeasure;
  readonly urnSelection: 'method1';
  readonly w: number;
  readonly alpha: number;
  readonly beta: number;
}

/** The design of a registration. */
export function registeredDesign(configuration: StudyConfiguration): Design {
  const { name, mode, treatments, factors } = configuration;
  const {
    idPattern,
    targetEnrollment,
    blinding,
    limits,
    policies = {},
    protocol,
    ratio,
    visits = [],
  } = configuration;
  return {
    ...{
      slots: slotsIn(treatments, ratio),
      closedTreatments: [],
      stoppedTreatments: [],
      epoch: 0,
      epochBegan: 0,
    },
    ...{ amendment: 0, name, mode, treatments, method: methodIn(configuration) },
    ...{ idPattern, target: targetEnrollment, blinding: blinding ?? 'open', limits, protocol, visits },
    factors: factors.map((factor) => ({ ...factor, closed: [], earlierNames: [], isRetired: false })),
    policies: {
      stopAtLimit: policies.stopAtLimit ?? false,
      levelCounts: policies.levelCounts ?? defaultLevelCounts(blinding),
      voidCounts: policies.voidCounts ?? 'kept',
      forcedCounts: policies.forcedCounts ?? 'counted',
    },
  };
}

/** The method of a registration: one without `method` has urns. */
export function methodIn(configuration: StudyConfiguration): Design['method'] {
  if ('method' in configuration) return configuration.method;
  const { D, urnSelection, w, alpha, beta } = configuration;
  return { name: 'urn', D, urnSelection, w, alpha, beta };
}

/** @param ratio how many slots each treatment has; default: one */
function slotsIn(treatments: readonly string[], ratio?: readonly number[]): readonly string[] {
  if (!ratio) return treatments;
  return treatments.flatMap((treatment, i) => Array<string>(ratio[i] ?? 1).fill(treatment));
}

/** Which level the urns count after a correction, if the registration does not say. This default never changes. */
export function defaultLevelCounts(
  blinding: StudyConfiguration['blinding'],
): NonNullable<Policies['levelCounts']> {
  // Where sites know the arms, finding a wrong level can depend on the arm, and would then steer the next allocations.
  return blinding === 'blinded' ? 'as-corrected' : 'as-randomized';
}

/**
 * The design after an amendment, which must be possible: this only applies it.
 * @param revision of its event; by default, of an event yet to come
 */
export function amendedDesign(
  before: Design,
  { amendment, changes, history, protocol }: Amendment,
  revision = Number.MAX_SAFE_INTEGER,
): Design {
  const after = changes.reduce(changedDesign, before);
  const restarted = { epoch: before.epoch + 1, epochBegan: revision };
  return {
    ...after,
    amendment,
    ...(history === 'restart' && restarted),
    ...(protocol && { protocol }),
  };
}

/** The design after one change, which must be possible. */
export function changedDesign(before: Design, change: DesignChange): Design {
  switch (change.kind) {
    case 'level-added':
    case 'level-closed':
    case 'level-reopened':
    case 'level-renamed': {
      const factors = before.factors.map((factor) =>
        factor.name === change.factor ? changedFactor(factor, change) : factor,
      );
      return { ...before, factors, limits: limitsUnderNewName(before.limits, change) };
    }
    case 'factor-retired': {
      const factors = before.factors.map((factor) =>
        factor.name === change.factor ? { ...factor, isRetired: true } : factor,
      );
      return { ...before, factors };
    }
    case 'arm-closed':
      return { ...before, closedTreatments: [...before.closedTreatments, change.treatment] };
    case 'arm-reopened': {
      const without = (all: readonly string[]) => all.filter((one) => one !== change.treatment);
      return {
        ...before,
        closedTreatments: without(before.closedTreatments),
        stoppedTreatments: without(before.stoppedTreatments),
      };
    }
    case 'arm-stopped':
      return { ...before, stoppedTreatments: [...before.stoppedTreatments, change.treatment] };
    case 'visits':
      return { ...before, visits: change.value };
    case 'arm-added': {
      const added = Array<string>(change.ratio ?? 1).fill(change.treatment);
      const treatments = [...before.treatments, change.treatment];
      return { ...before, treatments, slots: [...before.slots, ...added] };
    }
    case 'ratio':
      return { ...before, slots: slotsIn(before.treatments, change.value) };
    case 'urn': {
      const { method } = before;
      if (method.name !== 'urn') return before;
      const { w = method.w, alpha = method.alpha, beta = method.beta, D = method.D } = change;
      return { ...before, method: { ...method, w, alpha, beta, D } };
    }
    case 'limits':
      return { ...before, limits: change.value };
    case 'id-pattern':
      return { ...before, idPattern: change.value };
    case 'target':
      return { ...before, target: change.value };
    case 'blinding':
      return { ...before, blinding: change.value };
    case 'policy':
      return { ...before, policies: { ...before.policies, [change.name]: change.value } };
  }
}

type LevelChange = Extract<DesignChange, { level: string }>;

function changedFactor(factor: Factor, change: LevelChange): Factor {
  const { level } = change;
  switch (change.kind) {
    case 'level-added':
      return { ...factor, levels: [...factor.levels, level] };
    case 'level-closed':
      return { ...factor, closed: [...factor.closed, level] };
    case 'level-reopened':
      return { ...factor, closed: factor.closed.filter((one) => one !== level) };
    case 'level-renamed': {
      const { to, alias = false } = change;
      const renamed = (one: string) => (one === level ? to : one);
      const earlier = factor.earlierNames
        .filter(({ name }) => name !== to)
        .map((one) => ({ ...one, now: renamed(one.now) }));
      return {
        ...factor,
        levels: factor.levels.map(renamed),
        closed: factor.closed.map(renamed),
        earlierNames: [...earlier, { name: level, now: to, isAlias: alias }],
      };
    }
  }
}

function limitsUnderNewName(limits: Limits | undefined, change: LevelChange): Limits | undefined {
  if (change.kind !== 'level-renamed' || !limits?.levels) return limits;
  const { factor, level, to } = change;
  const isOf = (limit: { factor: string; level: string }) => limit.factor === factor && limit.level === level;
  return { ...limits, levels: limits.levels.map((limit) => (isOf(limit) ? { ...limit, level: to } : limit)) };
}

/** Another name for one level. */
export interface Renaming {
  /** Index of the factor. */
  readonly factor: number;
  readonly from: string;
  readonly to: string;
}

/** What an amendment renames, in order. */
export function renamingsOf({ changes }: Amendment, { factors }: Design): readonly Renaming[] {
  return changes.flatMap((change) =>
    change.kind === 'level-renamed'
      ? [
          {
            factor: factors.findIndex(({ name }) => name === change.factor),
            from: change.level,
            to: change.to,
          },
        ]
      : [],
  );
}

/** The treatments that take participants, in order. */
export function openTreatments({
  treatments,
  closedTreatments,
}: Pick<Design, 'treatments' | 'closedTreatments'>): readonly string[] {
  return treatments.filter((treatment) => !closedTreatments.includes(treatment));
}

/** The factors of which a new participant has a level, in order. */
export function activeFactors({ factors }: Pick<Design, 'factors'>): readonly Factor[] {
  return factors.filter(({ isRetired }) => !isRetired);
}

/** The levels that take participants, in order. */
export function openLevels({ levels, closed }: Factor): readonly string[] {
  return closed.length === 0 ? levels : levels.filter((level) => !closed.includes(level));
}

/** A level of a participant, by its present name, whatever its name was before; the text itself if there is none. */
export function levelNow({ levels, earlierNames }: Factor, name: string): string {
  if (earlierNames.length === 0 || levels.includes(name)) return name;
  return earlierNames.find((earlier) => earlier.name === name)?.now ?? name;
}

/** The level that a request means; undefined if the factor has none, or none of that name any more. */
export function askedLevel({ levels, earlierNames }: Factor, name: string): string | undefined {
  if (levels.includes(name)) return name;
  return earlierNames.find((earlier) => earlier.name === name && earlier.isAlias)?.now;
}

/** Whether some treatment has several slots. */
export function hasRatio({ treatments, slots }: Pick<Design, 'treatments' | 'slots'>): boolean {
  return slots.length > treatments.length;
}

/** How many slots each treatment has, in the order of the treatments. */
export function ratioOf({ treatments, slots }: Pick<Design, 'treatments' | 'slots'>): number[] {
  return treatments.map((treatment) => slots.filter((slot) => slot === treatment).length);
}

/** A ratio of all ones is left out. */
export function isEqualAllocation(ratio: readonly number[]): boolean {
  return ratio.every((slots) => slots === 1);
}

/**
 * Why a study cannot have this ratio; undefined if it can. All ones, which mean no ratio, are possible here.
 * @param ratio a number for each treatment, each from 1 to 20
 */
export function ratioProblem(treatments: readonly string[], ratio: readonly number[]): string | undefined {
  if (ratio.length !== treatments.length)
    return `it has ${counted(ratio.length, 'number')} for ${counted(treatments.length, 'treatment')}`;
  const divisor = ratio.reduce(greatestCommonDivisor);
  if (divisor > 1) return `all its numbers can be divided by ${divisor}`;
  return tooManySlots(ratio.reduce((sum, slots) => sum + slots, 0));
}

/** Ratios of real trials need far fewer. */
const MAX_SLOTS = 40;

/** @param slots how many there would be in all */
export function tooManySlots(slots: number): string | undefined {
  return slots > MAX_SLOTS ? `there would be ${slots} slots (there can be ${MAX_SLOTS})` : undefined;
}

/** The visit as it is declared; undefined if it is not. */
export function declaredVisit({ visits }: Pick<Design, 'visits'>, visit: string): string | undefined {
  return visits.find((declared) => foldedVisit(declared) === foldedVisit(visit));
}

/** Visits are the same if they differ only in the case of their letters. */
export function foldedVisit(visit: string): string {
  return visit.toLowerCase();
}

interface VisitProblem {
  /** Of the visit in the list. */
  readonly index: number;
  /** Of a sentence about the visit, without its beginning. It names neither an arm nor the visit. */
  readonly why: string;
}

/** What is wrong with visits of the right form that a study with these arms declares. */
export function visitProblems(visits: readonly string[], treatments: readonly string[]): VisitProblem[] {
  const folded = visits.map(foldedVisit);
  return visits.flatMap((visit, index) => {
    const first = folded.indexOf(folded[index] ?? '');
    if (first < index)
      return [{ index, why: `is the same as visit ${first + 1} (capital letters do not matter)` }];
    return revealsArm(visit, treatments) ? [{ index, why: 'is, or contains, the name of an arm' }] : [];
  });
}

/** Short names occur in codes by chance. */
const MIN_TELLING_LENGTH = 4;

/** Whether the code, or the visit, is the name of an arm, or contains one that is not short. */
export function revealsArm(text: string, treatments: readonly string[]): boolean {
  const folded = text.toLowerCase();
  return treatments.some((treatment) => {
    const name = treatment.toLowerCase();
    return folded === name || (name.length >= MIN_TELLING_LENGTH && folded.includes(name));
  });
}

// The words for parts of a design.

export function methodText(method: UrnMethod | Method): string {
  switch (method.name) {
    case 'urn':
      return "Wei's urn";
    case 'complete':
      return 'complete randomization';
    case 'minimization':
      return 'minimization';
    case 'blocks':
      return `permuted blocks ${strataText(method)}`;
    case 'list':
      return `a list made elsewhere, ${strataText(method)}`;
  }
}

function strataText({ by }: { readonly by: readonly string[] }): string {
  return by.length > 0 ? `by ${by.join(', ')}` : 'over the whole study';
}

/** What an urn holds from here on. */
export function urnText({ w, alpha, beta, D }: Extract<DesignChange, { kind: 'urn' }>): string {
  return Object.entries({ w, alpha, beta, D })
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
    .join(', ');
}

/** `2:1 ("A" 2, "B" 1)` */
export function ratioText(treatments: readonly string[], ratio: readonly number[]): string {
  return `${ratio.join(':')} (${treatments.map((name, i) => `${JSON.stringify(name)} ${ratio[i]}`).join(', ')})`;
}

/** Each limit: the whole study's first. */
export function limitTexts({ total, levels = [] }: Limits = {}): string[] {
  return [
    ...(total === undefined ? [] : [counted(total, 'participant')]),
    ...levels.map(({ factor, level, max }) => `${max} with ${factor} = ${level}`),
  ];
}

/** `V2, V3`. No visit contains a comma. */
export function visitsText(visits: readonly string[]): string {
  return visits.length > 0 ? visits.join(', ') : 'none';
}

export function protocolText({ version, date }: Protocol): string {
  return date === undefined ? version : `${version} of ${date}`;
}
