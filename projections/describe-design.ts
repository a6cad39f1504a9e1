/** The words for parts of a design. */

import type { Protocol } from '../events/define.ts';
import type { DesignChange, Limits, Method } from '../events/study.ts';
import { counted } from '../src/base/wording.ts';
import type { UrnMethod } from './design.ts';

/** Each limit: the whole study's first. */
export function limitTexts({ total, levels = [] }: Limits = {}): string[] {
  return [
    ...(total === undefined ? [] : [counted(total, 'participant')]),
    ...levels.map(({ factor, level, max }) => `${max} with ${factor} = ${level}`),
  ];
}

/** What an urn holds from here on. */
export function urnText({ w, alpha, beta, D }: Extract<DesignChange, { kind: 'urn' }>): string {
  return Object.entries({ w, alpha, beta, D })
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
    .join(', ');
}

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

/** `2:1 ("A" 2, "B" 1)` */
export function ratioText(treatments: readonly string[], ratio: readonly number[]): string {
  return `${ratio.join(':')} (${treatments.map((name, i) => `${JSON.stringify(name)} ${ratio[i]}`).join(', ')})`;
}

/** `V2, V3`. No visit contains a comma. */
export function visitsText(visits: readonly string[]): string {
  return visits.length > 0 ? visits.join(', ') : 'none';
}

export function protocolText({ version, date }: Protocol): string {
  return date === undefined ? version : `${version} of ${date}`;
}
