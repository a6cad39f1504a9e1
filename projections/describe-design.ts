/** The words for parts of a design. */
import type { DesignChange } from '../events/amendment.ts';
import type { Limits } from '../events/study.ts';
import type { Protocol } from '../events/text.ts';

/** Each limit: the whole study's first. */
export function limitTexts({ total, levels = [] }: Limits = {}): string[] {
  return [
    ...(total === undefined ? [] : [`${total} participants`]),
    ...levels.map(({ factor, level, max }) => `${max} with ${factor} = ${level}`),
  ];
}

/** What an urn holds from here on. */
export function urnText({ w, alpha, beta, D }: Extract<DesignChange, { kind: 'urn' }>): string {
  return Object.entries({ w, alpha, beta, D })
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
    .join(', ');
}

export function protocolText({ version, date }: Protocol): string {
  return date === undefined ? version : `${version} of ${date}`;
}
