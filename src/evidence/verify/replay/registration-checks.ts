/** Checks what a registration says, which the service checks when it reads its studies file. */
import { v5 } from 'uuid';
import type { PartialEvent } from '../../../../events/record.ts';
import type {
  MethodParameters,
  MinimizationParameters,
  StudyConfiguration,
} from '../../../../events/study.ts';
import { isDay } from '../../../base/time.ts';
import { greatestCommonDivisor } from '../../../base/whole-numbers.ts';
import {
  defaultLevelCounts,
  isEqualAllocation,
  ratioProblem,
  visitProblems,
} from '../../../core/model/design.ts';
import { linearPatternProblem } from '../../../core/model/participant-id.ts';
import { limitsProblem } from '../../../core/study/amendments.ts';
import { algorithmOf } from '../../../core/study/decide.ts';
import type { Mismatch } from '../report/report.ts';
import { mismatch } from './replay.ts';

/** The name of a study determines its id, and the id its stream. Names listed twice would be ambiguous. */
export function registrationMismatch(
  { data, log, stream, sections }: Extract<PartialEvent, { type: 'StudyRegistered' }>,
  sectionNames: readonly string[],
): Mismatch | undefined {
  const { studyId, configuration, seedSource } = data;
  const expected = v5(configuration.name, log);
  if (studyId !== expected)
    return mismatch('data.studyId', expected, studyId, "not that of the study's name");
  if (stream !== `study-${expected}`)
    return mismatch('stream', `study-${expected}`, stream, "not that of the study's name");
  if (seedSource === 'drawn' && sections.generator && !has128Bits(sections.generator))
    return mismatch('data.seedSource', 'configured', seedSource, 'a seed that is drawn has 128 bits');
  return (
    configurationMismatch(configuration) ??
    ratioMismatch(data) ??
    methodMismatch(configuration) ??
    listMismatch(data) ??
    parametersMismatch(configuration, sections, sectionNames)
  );
}

/** Equal allocation is left out, and has version 1 of the algorithm. */
function ratioMismatch({
  configuration,
  algorithm,
}: Extract<PartialEvent, { type: 'StudyRegistered' }>['data']): Mismatch | undefined {
  const { treatments, ratio } = configuration;
  const where = 'data.configuration.ratio';
  const why = ratio && ratioProblem(treatments, ratio);
  if (why !== undefined) return mismatch(where, 'a ratio of this study', ratio, why);
  if (ratio && isEqualAllocation(ratio)) return mismatch(where, undefined, ratio, 'the default is left out');
  const expected = algorithmOf(configuration);
  if (algorithm.name !== expected.name)
    return mismatch('data.algorithm.name', expected.name, algorithm.name, 'not that of the method');
  return algorithm.version === expected.version
    ? undefined
    : mismatch(
        'data.algorithm.version',
        expected.version,
        algorithm.version,
        'only a study with urns and a ratio has version 2',
      );
}

/** A stratum is made of levels of the study's factors, named once each and in their order. */
function methodMismatch(configuration: StudyConfiguration): Mismatch | undefined {
  if (!('method' in configuration) || !('by' in configuration.method)) return undefined;
  const { by } = configuration.method;
  const inOrder = configuration.factors.map(({ name }) => name).filter((name) => by.includes(name));
  if (by.join('\0') === inOrder.join('\0')) return undefined;
  const why = 'not factors of this study, once each and in their order';
  return mismatch('data.configuration.method.by', inOrder, by, why);
}

/** A list holds its own ratio, and nothing is drawn from a seed that somebody chose. */
function listMismatch({
  configuration,
  seedSource,
}: Extract<PartialEvent, { type: 'StudyRegistered' }>['data']): Mismatch | undefined {
  if (!('method' in configuration) || configuration.method.name !== 'list') return undefined;
  const { ratio } = configuration;
  if (ratio) return mismatch('data.configuration.ratio', undefined, ratio, 'a list holds its own ratio');
  return seedSource === 'drawn'
    ? undefined
    : mismatch('data.seedSource', 'drawn', seedSource, 'from a list nothing is drawn');
}

/** A method has its own parameters and no others, in one form. @param names of all sections, also of those withheld */
function parametersMismatch(
  configuration: StudyConfiguration,
  { blocks, minimization }: MethodParameters,
  names: readonly string[],
): Mismatch | undefined {
  const method = 'method' in configuration ? configuration.method.name : 'urn';
  for (const name of ['blocks', 'minimization'] as const)
    if (names.includes(name) !== (method === name))
      return mismatch(`seals.${name}`, method === name, method !== name, 'not the parameters of the method');
  return (
    (blocks && sizesMismatch(blocks.perSlot)) ??
    (minimization && weightsMismatch(minimization, configuration))
  );
}

function sizesMismatch(perSlot: readonly number[]): Mismatch | undefined {
  const ascending = [...new Set(perSlot)].sort((a, b) => a - b);
  if (ascending.join() === perSlot.join()) return undefined;
  return mismatch('blocks.perSlot', ascending, perSlot, 'not different sizes, in ascending order');
}

/** Equal weights are left out. */
function weightsMismatch(
  { weights }: MinimizationParameters,
  { factors }: StudyConfiguration,
): Mismatch | undefined {
  if (!weights) return undefined;
  const isEqual = weights.every((weight) => weight === weights[0]);
  if (weights.length === factors.length && !isEqual && weights.reduce(greatestCommonDivisor) === 1)
    return undefined;
  const why = 'not one weight per factor, different and without a common divisor';
  return mismatch('minimization.weights', `${factors.length} weights`, weights, why);
}

/** A number below 2^128, in decimal. */
export function has128Bits({ seed }: { readonly seed: string }): boolean {
  return BigInt(seed) >> 128n === 0n;
}

function configurationMismatch(configuration: StudyConfiguration): Mismatch | undefined {
  const { treatments, factors, idPattern, protocol } = configuration;
  const where = 'data.configuration';
  const lists: [string, readonly string[]][] = [
    [`${where}.treatments`, treatments],
    [`${where}.factors`, factors.map(({ name }) => name)],
    ...factors.map(({ levels }, i): [string, string[]] => [`${where}.factors[${i}].levels`, levels]),
  ];
  for (const [field, names] of lists)
    if (new Set(names).size < names.length)
      return mismatch(field, 'names that differ', names, 'a name occurs twice');
  if (protocol?.date !== undefined && !isDay(protocol.date))
    return mismatch(`${where}.protocol.date`, 'a day of the calendar', protocol.date, 'there is no such day');
  const ofPattern = idPattern === undefined ? undefined : linearPatternProblem(idPattern);
  if (ofPattern)
    return mismatch(`${where}.idPattern`, 'a pattern that RE2 can run', idPattern, ofPattern.reason);
  return (
    policiesMismatch(configuration, where) ??
    limitsMismatch(configuration, where) ??
    visitsMismatch(configuration, where)
  );
}

/** A default is left out, so that one configuration has one form. */
function policiesMismatch({ policies, blinding }: StudyConfiguration, where: string): Mismatch | undefined {
  if (!policies) return undefined;
  if (Object.keys(policies).length === 0)
    return mismatch(`${where}.policies`, undefined, policies, 'without a policy it is left out');
  if (policies.levelCounts === defaultLevelCounts(blinding))
    return mismatch(
      `${where}.policies.levelCounts`,
      undefined,
      policies.levelCounts,
      'the default is left out',
    );
  return undefined;
}

function limitsMismatch(configuration: StudyConfiguration, where: string): Mismatch | undefined {
  const { limits } = configuration;
  const problem = limits && limitsProblem(configuration, limits, 'limits');
  return problem && mismatch(`${where}.${problem.field}`, 'what a registration has', limits, problem.why);
}

function visitsMismatch(
  { visits = [], treatments }: StudyConfiguration,
  where: string,
): Mismatch | undefined {
  const [problem] = visitProblems(visits, treatments);
  if (!problem) return undefined;
  const { index, why } = problem;
  return mismatch(`${where}.visits[${index}]`, 'another name', visits[index], `it ${why}`);
}
