/** Reads designs to compare with, as the user writes them: `block:4+6@local_site`, `urn:w=5,D=range`. */
import { ImbalanceMeasure } from '../../../events/study.ts';
import { namesIn, quote } from '../../base/text.ts';
import { suggest } from '../../core/configuration/yaml.ts';
import type { Comparator, ComparatorRule, SimulatedDesign } from '../simulation/plan.ts';
import { comparatorProblem } from '../simulation/rules.ts';
import { among } from './words.ts';

const KINDS = ['urn', 'complete', 'block', 'minimization', 'efron', 'bigstick'] as const;
type Kind = (typeof KINDS)[number];

/** What follows the colon, for each kind. */
const FORMS: Readonly<Record<Kind, string>> = {
  urn: 'urn:w=5,alpha=0,beta=1,D=range (anything left out is as in the study)',
  complete: 'complete',
  block: 'block:4, or block:4+6 for blocks of both sizes by lot',
  minimization: 'minimization:0.8, or minimization:0.8,variance',
  efron: 'efron:0.667',
  bigstick: 'bigstick:4',
};

export class ComparatorError extends Error {}

/** @throws ComparatorError that says what is wrong, and what is available */
export function readComparator(text: string, design: SimulatedDesign): Comparator {
  const [, head = '', places] = /^([^@]*)(?:@(.*))?$/s.exec(text) ?? [];
  const [, named = '', numbers] = /^([^:]*)(?::(.*))?$/s.exec(head) ?? [];
  const kind = KINDS.find((one) => one === named);
  const refuse = (why: string) => new ComparatorError(`${quote(text)}: ${why}`);
  if (kind === undefined)
    throw refuse(
      `there is no comparator ${quote(named)}, only ${among(KINDS)} (hint: ${suggest(named, KINDS)})`,
    );
  const rule = ruleFrom(kind, numbers, design);
  if (rule === undefined) throw refuse(`it is not of the form ${FORMS[kind]}`);
  const within = places === undefined ? withoutPlaces(kind, design) : readPlaces(places, design, refuse);
  const problem = comparatorProblem({ rule, within }, design);
  if (problem !== undefined) throw refuse(problem);
  return { name: text, rule, within };
}

/**
 * What a design is usually compared with: complete randomization, blocks within sites if there is a factor for sites, and
 * minimization.
 */
export function usualComparators(
  { ratio, factors }: SimulatedDesign,
  siteFactor: number | undefined,
): string[] {
  const sum = ratio.reduce((total, one) => total + one, 0);
  const site = siteFactor === undefined ? undefined : factors[siteFactor]?.name;
  return [
    'complete',
    ...(site === undefined ? [] : [`block:${2 * sum}@${placeText(site)}`]),
    'minimization:0.8',
  ];
}

/** An urn and minimization use all factors unless some are named. */
function withoutPlaces(kind: Kind, { factors }: SimulatedDesign): number[] {
  return kind === 'urn' || kind === 'minimization' ? [...factors.keys()] : [];
}

/** Undefined if the numbers have another form. */
function ruleFrom(
  kind: Kind,
  numbers: string | undefined,
  design: SimulatedDesign,
): ComparatorRule | undefined {
  if (kind === 'urn') return urnFrom(numbers, design);
  if (kind === 'complete') return numbers === undefined ? { kind } : undefined;
  if (kind === 'block') {
    if (numbers === undefined || !/^\d+(\+\d+)*$/.test(numbers)) return undefined;
    return { kind, sizes: numbers.split('+').map(Number) };
  }
  if (kind === 'minimization') {
    const [, p, measure] = /^(\d+(?:\.\d*)?|\.\d+)(,variance)?$/.exec(numbers ?? '') ?? [];
    return p === undefined ? undefined : { kind, p: Number(p), measure: measure ? 'variance' : 'range' };
  }
  if (kind === 'bigstick') return /^\d+$/.test(numbers ?? '') ? { kind, limit: Number(numbers) } : undefined;
  return /^(\d+(\.\d*)?|\.\d+)$/.test(numbers ?? '') ? { kind, p: Number(numbers) } : undefined;
}

function urnFrom(settings: string | undefined, design: SimulatedDesign): ComparatorRule | undefined {
  const urn = { w: design.w, alpha: design.alpha, beta: design.beta, D: design.D };
  const seen = new Set<string>();
  for (const setting of settings === undefined ? [] : settings.split(',')) {
    const [, name = '', value = ''] = /^(w|alpha|beta|D)=(\w+)$/.exec(setting) ?? [];
    if (name === '' || seen.has(name)) return undefined;
    seen.add(name);
    const measure = ImbalanceMeasure.options.find((one) => one === value);
    if (name === 'D' && measure !== undefined) urn.D = measure;
    else if ((name === 'w' || name === 'alpha' || name === 'beta') && /^\d+$/.test(value))
      urn[name] = Number(value);
    else return undefined;
  }
  return { kind: 'urn', ...urn };
}

/** In the form that `readPlaces` reads. */
function placeText(name: string): string {
  return !/[",]/.test(name) && name === name.trim() ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Factors by their names. @returns their places in the design */
function readPlaces(
  text: string,
  { factors }: SimulatedDesign,
  refuse: (why: string) => ComparatorError,
): number[] {
  const wanted = namesIn(text);
  if (!wanted)
    throw refuse(
      '@ must be followed by names of factors, separated by commas (hint: put a name that has a comma in double quotes)',
    );
  const names = factors.map(({ name }) => name);
  return wanted.map((name) => {
    const factor = names.indexOf(name);
    if (factor < 0) throw refuse(`the study has no factor ${quote(name)}, only ${among(names.map(quote))}`);
    return factor;
  });
}
