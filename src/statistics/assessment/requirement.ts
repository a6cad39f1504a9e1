/** What is required of a design: `overall.range.p95 <= 20`. */

import { quote } from '../../base/text.ts';
import { nearestTo } from '../../base/wording.ts';
import type { SimulatedDesign } from '../simulation/plan.ts';
import type { Figure } from '../simulation/result.ts';

const OPERATORS: Readonly<Record<string, (value: number, number: number) => boolean>> = {
  '<=': (value, number) => value <= number,
  '<': (value, number) => value < number,
  '>=': (value, number) => value >= number,
  '>': (value, number) => value > number,
};

export interface Requirement {
  /** As it was written. */
  readonly text: string;
  readonly figure: string;
  readonly operator: string;
  readonly number: number;
}

export interface JudgedRequirement {
  readonly requirement: string;
  readonly met: boolean;
  readonly figure: Figure;
  /** If so, another seed could give a different verdict. */
  readonly withinError: boolean;
}

export class RequirementError extends Error {}

/** @throws RequirementError */
export function readRequirement(text: string): Requirement {
  const found = /^\s*(.+?)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$/s.exec(text);
  const [, figure = '', operator = '', number] = found ?? [];
  if (!found)
    throw new RequirementError(
      `${quote(text)} is not of the form 'NAME OP NUMBER', OP being <=, <, >= or > (hint: 'overall.range.p95 <= 20')`,
    );
  return { text, figure, operator, number: Number(number) };
}

/** @throws RequirementError when there is no such figure */
export function refuseUnknown(
  { figure }: Requirement,
  names: readonly string[],
  design: SimulatedDesign,
): void {
  if (!names.includes(figure)) throw new RequirementError(unknownFigure(figure, names, design));
}

/** @throws RequirementError when there is no such figure */
export function judge(
  requirement: Requirement,
  figures: ReadonlyMap<string, Figure>,
  design: SimulatedDesign,
): JudgedRequirement {
  const { text, figure: name, operator, number } = requirement;
  const figure = figures.get(name);
  if (!figure) throw new RequirementError(unknownFigure(name, [...figures.keys()], design));
  const { value, low, high } = figure;
  const withinError = low < high && low <= number && number <= high;
  return { requirement: text, met: OPERATORS[operator]?.(value, number) ?? false, figure, withinError };
}

function unknownFigure(name: string, names: readonly string[], design: SimulatedDesign): string {
  const nearest = nearestTo(name, names);
  const meant = nearest === undefined ? '' : ` (hint: did you mean ${nearest}?)`;
  const hint = design.own && name.startsWith('drawn.') ? ', which has no urns' : meant;
  return `there is no figure ${quote(name)} of this design${hint}; it has:\n  ${figuresText(names, design).join('\n  ')}`;
}

/** Each level, and each kind of range, has the same figures, so they are named once. */
function figuresText(names: readonly string[], { factors }: SimulatedDesign): string[] {
  const first = factors[0];
  const ofFirst = `level.${first?.name}.${first?.levels[0]}.`;
  const all = names.flatMap((one) => {
    if (!one.startsWith('level.')) return [one];
    return one.startsWith(ofFirst) ? [`level.<factor>.<level>.${one.slice(ofFirst.length)}`] : [];
  });
  const together = new Map<string, string[]>();
  for (const one of all) {
    const [, range, what] = /^(.*)\.(mean|p\d\d|ge5|ge10)$/s.exec(one) ?? [];
    const [key, end] = range === undefined ? [one, []] : [range, [`.${what}`]];
    together.set(key, [...(together.get(key) ?? []), ...end]);
  }
  return [...together].map(([key, ends]) => `${key}${ends.join(' ')}`).toSorted();
}

export function judgedText({ requirement, met, figure, withinError }: JudgedRequirement): string {
  const { value, low, high } = figure;
  const interval = low < high ? ` [${short(low)}, ${short(high)}]` : '';
  const remark = withinError ? '; the number is within the Monte Carlo error: use more --reps' : '';
  return `${met ? 'met' : 'NOT MET'}: ${requirement}; it is ${short(value)}${interval}${remark}`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(5)));
}
