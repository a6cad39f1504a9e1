/** The words of a bundle's report for what the records say. */

import type { Approval, Protocol } from '../../../events/define.ts';
import type { Actor, PartialEventOf } from '../../../events/record.ts';
import type { Amendment, DesignChange } from '../../../events/study.ts';
import { counted } from '../../base/wording.ts';
import { limitTexts, protocolText, urnText, visitsText } from '../../core/model/design.ts';

interface Words {
  /** Whether arms are called by their names. */
  readonly namesArms: boolean;
  /** Whether the study's method is the urn. */
  readonly hasUrns: boolean;
}

export function amendmentText(
  { amendment, approvals, changes, history, protocol, reason }: Amendment,
  { namesArms, hasUrns }: Words,
): string {
  return sentence(
    `amendment ${amendment}: ${reason}`,
    ...changes.map((change) => changeText(change, namesArms)),
    history === 'restart' && (hasUrns ? 'the urns begin anew' : 'the method begins anew'),
    protocol && protocolFromHere(protocol),
    ...approvals.map(approvalText),
  );
}

function changeText(change: DesignChange, namesArms: boolean): string {
  const arm = 'treatment' in change && namesArms ? `arm ${change.treatment}` : 'an arm';
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
    case 'factor-retired':
      return `${change.factor} retired`;
    case 'arm-closed':
      return `${arm} closed`;
    case 'arm-reopened':
      return `${arm} reopened`;
    case 'arm-stopped':
      return `${arm} stopped: nobody on it gets packs any more`;
    case 'arm-added':
      return `${arm} added${change.ratio === undefined ? '' : `, with ${counted(change.ratio, 'slot')}`}`;
    case 'visits':
      return `visits: ${visitsText(change.value)}`;
    case 'ratio':
      return `ratio: ${change.value.join(':')}`;
    case 'urn':
      return urnText(change);
    case 'limits':
      return change.value ? `limits: ${limitTexts(change.value).join(', ')}` : 'no limits';
    case 'id-pattern':
      return change.value === undefined ? 'any participant id' : `participant ids must match ${change.value}`;
    case 'target':
      return change.value === undefined ? 'no target' : `target: ${counted(change.value, 'participant')}`;
    case 'blinding':
      return `blinding: ${change.value}`;
    case 'policy':
      return `policy ${change.name}: ${change.value}`;
  }
}

export function protocolFromHere(protocol: Protocol): string {
  return `protocol ${protocolText(protocol)} from here on`;
}

export function sentence(...parts: readonly (string | false | undefined)[]): string {
  return parts.filter((part) => typeof part === 'string').join('; ');
}

/** @param by the factors of the strata */
export function skippedText(
  { skipped }: PartialEventOf<'EntriesSkipped'>['data'],
  by: readonly string[],
): string {
  const texts = skipped.map(({ count, levels = [] }) => {
    const stratum = levels.map((level, i) => `${by[i]} = ${level}`).join(', ');
    return stratum === '' ? String(count) : `${stratum}: ${count}`;
  });
  return texts.join('; ') || 'none';
}

export function approvalText({ name, role, on, reference }: Approval): string {
  const more = [role, on, ...(reference === undefined ? [] : [reference])];
  return `approved by ${name} (${more.join(', ')})`;
}

/** Nothing if the grounds are sealed. */
export function groundsTexts({
  grounds,
}: {
  readonly grounds?: { readonly reason: string; readonly requestedBy?: string | undefined } | undefined;
}): (string | undefined)[] {
  if (!grounds) return [];
  const { reason, requestedBy } = grounds;
  return [`reason: ${reason}`, requestedBy === undefined ? undefined : `asked for by ${requestedBy}`];
}

/** To the second, in UTC. */
export function shownInstant(at: string): string {
  return `${at.replace('T', ' ').slice(0, 19)} UTC`;
}

export function actorText(actor: Actor): string {
  if ('cli' in actor) return `${actor.user} (command line)`;
  const { user, onBehalfOf } = actor;
  return onBehalfOf === undefined ? user : `${user}, on behalf of ${onBehalfOf}`;
}
