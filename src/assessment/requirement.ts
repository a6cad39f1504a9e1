/** What is required of a design: `overall.range.p95 <= 20`. */
import { quote } from '../base/text.ts';
import { suggest } from '../configuration/values.ts';
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

export interface Judged {
  readonly requirement: string;
  readonly met: boolean;
  readonly figure: Figure;
  /** Then another seed could judge otherwise. */
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
export function judge(
  { text, figure: name, operator, number }: Requirement,
  figures: ReadonlyMap<string, Figure>,
  design: SimulatedDesign,
): Judged {
  const figure = figures.get(name);
  if (!figure) throw new RequirementError(unknownFigure(name, [...figures.keys()], design));
  const { value, low, high } = figure;
  const withinError = low < high && low <= number && number <= high;
  return { requirement: text, met: OPERATORS[operator]?.(value, number) ?? false, figure, withinError };
}

/** Each level has the same figures, so they are named once. */
function unknownFigure(name: string, names: readonly string[], { factors }: SimulatedDesign): string {
  const first = factors[0];
  const ofFirst = `level.${first?.name}.${first?.levels[0]}.`;
  const listed = names.flatMap((one) => {
    if (!one.startsWith('level.')) return [one];
    return one.startsWith(ofFirst) ? [`level.<factor>.<level>.${one.slice(ofFirst.length)}`] : [];
  });
  return `there is no figure ${quote(name)} of this design (hint: ${suggest(name, names).replace(/^choose one of.*$/s, 'see the names below')})\n  ${listed.toSorted().join('\n  ')}`;
}

export function judgedText({ requirement, met, figure, withinError }: Judged): string {
  const { value, low, high } = figure;
  const interval = low < high ? ` [${short(low)}, ${short(high)}]` : '';
  const remark = withinError ? '; the number lies within the Monte Carlo error: more --reps tell' : '';
  return `${met ? 'met' : 'NOT MET'}: ${requirement}; it is ${short(value)}${interval}${remark}`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(5)));
}
