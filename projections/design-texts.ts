/** The words for what a design says, and for what an amendment changes in it. */
import type { DesignChange } from '../events/amendment.ts';
import type { Limits } from '../events/study.ts';
import type { Protocol } from '../events/text.ts';

/** One change. It needs no knowledge of the design before it. */
export function describeChange(change: DesignChange): string {
  switch (change.kind) {
    case 'level-added':
      return `${change.factor}: ${change.level} added`;
    case 'level-closed':
      return `${change.factor}: ${change.level} closed`;
    case 'level-reopened':
      return `${change.factor}: ${change.level} reopened`;
    case 'level-renamed': {
      const { factor, level, to, alias } = change;
      return `${factor}: ${level} renamed to ${to}${alias ? ' (requests may still use the old name)' : ''}`;
    }
    case 'limits':
      return change.value ? `limits: ${describeLimits(change.value).join(', ')}` : 'no limits';
    case 'id-pattern':
      return change.value === undefined ? 'any participant id' : `participant ids must match ${change.value}`;
    case 'target':
      return change.value === undefined ? 'no target' : `target: ${change.value} participants`;
    case 'blinding':
      return `blinding: ${change.value}`;
    case 'policy':
      return `policy ${change.name}: ${change.value}`;
  }
}

/** Each limit: the whole study's first. */
export function describeLimits({ total, levels = [] }: Limits): string[] {
  return [
    ...(total === undefined ? [] : [`${total} participants`]),
    ...levels.map(({ factor, level, max }) => `${max} with ${factor} = ${level}`),
  ];
}

export function describeProtocol({ version, date }: Protocol): string {
  return date === undefined ? version : `${version} of ${date}`;
}
