/** The words for parts of a design. */
import type { Limits } from '../events/study.ts';
import type { Protocol } from '../events/text.ts';

/** Each limit: the whole study's first. */
export function limitTexts({ total, levels = [] }: Limits = {}): string[] {
  return [
    ...(total === undefined ? [] : [`${total} participants`]),
    ...levels.map(({ factor, level, max }) => `${max} with ${factor} = ${level}`),
  ];
}

export function protocolText({ version, date }: Protocol): string {
  return date === undefined ? version : `${version} of ${date}`;
}
