/** What to simulate, from the options of the command. */

import { quote } from '../base/text.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import { suggest } from '../core/configuration/yaml.ts';
import { methodIn } from '../core/model/design.ts';
import { ComparatorError, readComparator, usualComparators } from '../statistics/assessment/comparator.ts';
import { among, figureNames, figuresByName } from '../statistics/assessment/names.ts';
import {
  type JudgedRequirement,
  judge,
  type Requirement,
  RequirementError,
  readRequirement,
  refuseUnknown,
} from '../statistics/assessment/requirement.ts';
import { replicateProblem } from '../statistics/replicate/replicate.ts';
import type { Comparator, SimulatedDesign, SimulationPlan } from '../statistics/simulation/plan.ts';
import type { DesignResult } from '../statistics/simulation/result.ts';
import { UsageError } from './options.ts';
import { type ArrivalOptions, arrivalsFrom } from './simulate-arrivals.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { wholeNumber } from './whole-number.ts';

export interface SimulateOptions extends ArrivalOptions {
  readonly studies?: string;
  readonly study?: string;
  readonly participants?: string;
  readonly reps: string;
  readonly seed: string;
  readonly threads?: string;
  readonly against?: readonly string[];
  readonly siteFactor?: string;
  readonly at?: string;
  readonly require?: readonly string[];
  readonly exact?: boolean;
  readonly csv?: string;
  readonly html?: string;
  readonly json?: boolean;
}

export const DEFAULTS = { reps: '10000', seed: '1' } as const;

/** A trial is held in memory while it is simulated. */
const MAX_PARTICIPANTS = 1_000_000;
const MAX_REPS = 1_000_000_000;
const MAX_THREADS = 1024;

export async function planFrom(
  options: SimulateOptions,
): Promise<{ readonly plan: SimulationPlan; readonly threads: number | undefined }> {
  const study = await studyFrom(options);
  const { configuration, urn } = study;
  refuseList(configuration);
  const { name, treatments, factors, ratio, targetEnrollment } = configuration;
  const design: SimulatedDesign = {
    ...{ treatments, factors, ...urn },
    ratio: ratio ?? treatments.map(() => 1),
    own: ownMethod(study),
  };
  const participants = options.participants ?? targetEnrollment?.toString();
  if (participants === undefined)
    throw new UsageError(
      `study ${quote(name)} has no target_enrollment (hint: say how many participants: --participants 300)`,
    );
  const size = wholeNumber('--participants', participants, 1, MAX_PARTICIPANTS);
  const threads =
    options.threads === undefined ? undefined : wholeNumber('--threads', options.threads, 1, MAX_THREADS);
  const reps = wholeNumber('--reps', options.reps, 1, MAX_REPS);
  const seed = seedFrom(options.seed);
  const at = pointsFrom(options.at, size);
  const siteFactor = siteFrom(options.siteFactor, design);
  const comparators = comparatorsFrom(options, design, siteFactor);
  const { arrivals, source } = await arrivalsFrom(options, design);
  const plan = { study: name, design, arrivals, arrivalsSource: source, comparators, siteFactor };
  return { plan: { ...plan, participants: size, reps, seed, at }, threads };
}

/** @throws UsageError */
function refuseList(configuration: ConfiguredStudy['configuration']): void {
  const problem = replicateProblem({ method: methodIn(configuration) });
  if (problem !== undefined)
    throw new UsageError(
      `study ${quote(configuration.name)} cannot be simulated: ${problem} (hint: give a copy of the file the method by which the list was made, such as {name: blocks, …})`,
    );
}

/** Undefined for the urn. */
function ownMethod({ configuration, parameters = {} }: ConfiguredStudy): SimulatedDesign['own'] {
  if (!('method' in configuration)) return undefined;
  const { method, factors, treatments, ratio } = configuration;
  const { blocks, minimization } = parameters;
  const slots = ratio?.reduce((sum, share) => sum + share, 0) ?? treatments.length;
  if (method.name === 'blocks' && blocks) {
    const within = method.by.map((name) => factors.findIndex((factor) => factor.name === name));
    const sizes = blocks.perSlot.map((places) => places * slots);
    return { rule: { kind: 'block', sizes }, within };
  }
  if (method.name !== 'minimization' || !minimization) return { rule: { kind: 'complete' }, within: [] };
  const { measure, pThousandths, weights } = minimization;
  return { rule: { kind: 'minimization', p: pThousandths / 1000, measure, weights }, within: [] };
}

async function studyFrom({ studies: file, study: name }: SimulateOptions): Promise<ConfiguredStudy> {
  const { studies } = await readStudiesFile(file ?? DEFAULT_STUDIES_FILE);
  const names = studies.map(({ configuration }) => configuration.name);
  if (name === undefined) {
    const [only, second] = studies;
    if (only && !second) return only;
    throw new UsageError(`there are several studies: choose one with --study: ${among(names.map(quote))}`);
  }
  const found = studies.find(({ configuration }) => configuration.name === name);
  if (!found)
    throw new UsageError(
      `the studies file has no study ${quote(name)}, only ${among(names.map(quote))} (hint: ${suggest(name, names)})`,
    );
  return found;
}

const MAX_SEED = 2n ** 63n - 1n;

function seedFrom(text: string): bigint {
  const seed = /^[1-9]\d{0,18}$/.test(text) ? BigInt(text) : 0n;
  if (seed >= 1n && seed <= MAX_SEED) return seed;
  throw new UsageError(`--seed ${quote(text)} is not a whole number from 1 to ${MAX_SEED} (2^63 - 1)`);
}

/** The end is always included. */
function pointsFrom(text: string | undefined, participants: number): number[] {
  const points =
    text === undefined ? [] : text.split(',').map((one) => wholeNumber('--at', one.trim(), 1, participants));
  return [...new Set([...points, participants])].toSorted((a, b) => a - b);
}

function siteFrom(name: string | undefined, { factors }: SimulatedDesign): number | undefined {
  if (name === undefined) return undefined;
  const names = factors.map((factor) => factor.name);
  const site = names.indexOf(name);
  if (site >= 0) return site;
  throw new UsageError(
    `--site-factor: the study has no factor ${quote(name)}, only ${among(names.map(quote))} (hint: ${suggest(name, names)})`,
  );
}

/** A page with nothing to compare with would say little, so it gets the usual comparators. */
function comparatorsFrom(
  { against, html }: SimulateOptions,
  design: SimulatedDesign,
  siteFactor: number | undefined,
): Comparator[] {
  const texts = against ?? (html === undefined ? [] : usualComparators(design, siteFactor));
  const twice = texts.find((text, i) => texts.indexOf(text) < i);
  if (twice !== undefined) throw new UsageError(`--against ${quote(twice)} is given twice`);
  return asUsageErrors('--against', () => texts.map((text) => readComparator(text, design)));
}

/** @throws UsageError for an unknown figure, before anything is simulated */
export function requirementsOf({ require = [] }: SimulateOptions, plan: SimulationPlan): Requirement[] {
  const names = figureNames(plan);
  return asUsageErrors('--require', () => {
    const requirements = require.map(readRequirement);
    for (const requirement of requirements) refuseUnknown(requirement, names, plan.design);
    return requirements;
  });
}

export function judgedBy(
  requirements: readonly Requirement[],
  plan: SimulationPlan,
  [own]: readonly DesignResult[],
): JudgedRequirement[] {
  const figures = own ? figuresByName(own, plan) : new Map();
  return asUsageErrors('--require', () => requirements.map((one) => judge(one, figures, plan.design)));
}

function asUsageErrors<T>(optionName: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ComparatorError || error instanceof RequirementError)
      throw new UsageError(`${optionName} ${error.message}`);
    throw error;
  }
}
