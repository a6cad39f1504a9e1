/**
 * English words for what records say: acts, amendments and who did them. They are in the report of a bundle, on other
 * pages that are printed, and at the command line.
 */
import type { LevelChange } from '../../../events/corrections.ts';
import type { Approval, Protocol } from '../../../events/define.ts';
import type { Actor, PartialEventOf } from '../../../events/record.ts';
import type { Amendment, DesignChange } from '../../../events/study.ts';
import { counted, plural } from '../../base/wording.ts';
import type { ActName } from '../../core/acts/acts.ts';
import { limitTexts, protocolText, urnText, visitsText } from '../../core/model/design.ts';
import type { SecondDraws, UndoneAmendment } from '../../core/study/steering.ts';

export type ActEvent = PartialEventOf<ActName>;

/** The id in use, of the participant with this id as randomized. */
type IdOf = (participantId: string) => string;

/**
 * What an act recorded, and its details.
 * @param more further details
 */
export function actText(
  event: ActEvent,
  idOf: IdOf,
  ...more: readonly (string | false | undefined)[]
): string {
  // The row of an event takes events of its type.
  const texts = ACT_TEXTS[event.type] as ActTexts<ActName>;
  return sentence(...texts(event, idOf), ...more);
}

/** What happened, and details, with nothing that is free text about a participant. */
type ActTexts<N extends ActName> = (
  event: PartialEventOf<N>,
  idOf: IdOf,
) => readonly (string | false | undefined)[];

const ACT_TEXTS: { readonly [N in ActName]: ActTexts<N> } = {
  StudyPaused: ({ data }) => [`paused: ${data.reason}`],
  StudyResumed: ({ data }) => [`resumed: ${data.reason}`],
  StudyClosed: ({ data: { approvals = [], cause, reason } }) => [
    `closed (${cause}): ${reason}`,
    ...approvals.map(approvalText),
  ],
  StudyReopened: ({ data: { approvals, protocol, reason } }) => [
    `reopened: ${reason}`,
    ...approvals.map(approvalText),
    protocol && protocolFromHere(protocol),
  ],
  LevelsCorrected: ({ data: { cause, changes, participantId } }, idOf) => {
    return [`${idOf(participantId)} corrected (${cause}): ${changes.map(levelChangeText).join(', ')}`];
  },
  AllocationVoided: ({ data: { analysis, cause, duplicateOf, participantId } }, idOf) => {
    const why = duplicateOf === undefined ? cause : `${cause} of ${idOf(duplicateOf)}`;
    return [`${idOf(participantId)} voided: ${why}`, `analysis: ${analysis}`];
  },
  AllocationReinstated: ({ data }, idOf) => [`${idOf(data.participantId)} no longer voided`],
  ParticipantIdCorrected: ({ data: { cause, from, to } }) => [`${from} renamed to ${to} (${cause})`],
  CodeReplaced: ({ data: { by, cause, code, participantId } }, idOf) => [
    `pack ${code} of ${idOf(participantId)} replaced by ${by} (${cause})`,
  ],
  PackDispensed: ({ data: { code, participantId, visit } }, idOf) => [
    `pack ${code} given to ${idOf(participantId)} for ${visit}`,
  ],
  DispensationCorrected: ({ data: { cause, code, from, participantId, to } }, idOf) => {
    const moved = from !== undefined && to !== undefined && `for ${to}, not ${from}`;
    const change = moved || (to === undefined ? 'was never theirs' : `for ${to}, after all`);
    return [`pack ${code} of ${idOf(participantId)}: ${change} (${cause})`];
  },
  CodesWithdrawn: ({ data }) => [`packs withdrawn that nobody had: ${data.count}`],
  AllocationRevealed: ({ data: { category, code, participantId, shownAt } }, idOf) => {
    const byPack = participantId === undefined ? 'nobody had it' : `requested with the pack ${code}`;
    return [
      `code of ${participantId === undefined ? `pack ${code}` : idOf(participantId)} broken: ${category}`,
      code !== undefined && byPack,
      shownAt !== undefined && `recorded late: the treatment was shown at ${shownInstant(shownAt)}`,
    ];
  },
  UnblindingReported: ({ data: { how, inadvertent, occurredAt, participantId, revealedAt } }, idOf) => [
    `reported: ${idOf(participantId)} was unblinded outside the service at ${shownInstant(occurredAt)} (${how})`,
    inadvertent && 'inadvertent',
    revealedAt !== undefined && `the code-break at revision ${revealedAt} was a mistake`,
  ],
};

export function levelChangeText({ factor, from, to }: LevelChange): string {
  return `${factor} from ${from} to ${to}`;
}

interface Wording {
  /** Whether arms are called by their names. */
  readonly namesArms: boolean;
  /** Whether the study's method is the urn. */
  readonly hasUrns: boolean;
}

export function amendmentText(
  { amendment, approvals, changes, history, protocol, reason }: Amendment,
  { namesArms, hasUrns }: Wording,
): string {
  return sentence(
    `amendment ${amendment}: ${reason}`,
    ...changes.map((change) => designChangeText(change, namesArms)),
    history === 'restart' && (hasUrns ? 'the urns begin anew' : 'the method begins anew'),
    protocol && protocolFromHere(protocol),
    ...approvals.map(approvalText),
  );
}

function designChangeText(change: DesignChange, namesArms: boolean): string {
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

function protocolFromHere(protocol: Protocol): string {
  return `protocol ${protocolText(protocol)} from here on`;
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

export function actorText(actor: Actor): string {
  if ('cli' in actor) return `${actor.user} (command line)`;
  const { user, onBehalfOf } = actor;
  return onBehalfOf === undefined ? user : `${user}, on behalf of ${onBehalfOf}`;
}

/** To the second, in UTC. */
export function shownInstant(at: string): string {
  return `${at.replace('T', ' ').slice(0, 19)} UTC`;
}

export function sentence(...parts: readonly (string | false | undefined)[]): string {
  return parts.filter((part) => typeof part === 'string').join('; ');
}

/** What somebody may have done to choose arms: of each user a line, and one of each draw; then the amendments. */
export function steeringTexts(
  secondDraws: readonly SecondDraws[],
  undone: readonly UndoneAmendment[],
  most: number,
): { readonly text: string; readonly details: readonly string[] }[] {
  return [
    ...secondDraws.map((of) => {
      const each = of.draws.map(
        ({ participant, revision, voidedBy, next, nextBy }) =>
          `${participant}, voided by ${voidedBy} (revision ${revision}); ${next}, randomized by ${nextBy}`,
      );
      const more = each.length > most ? [`and ${each.length - most} more`] : [];
      return { text: secondDrawsText(of), details: [...each.slice(0, most), ...more] };
    }),
    ...undone.map((one) => ({ text: undoneText(one), details: [] })),
  ];
}

function secondDrawsText({ user, draws, differed, kept }: SecondDraws): string {
  const many = draws.length;
  const them = plural(many, 'was', 'were');
  const arms = kept?.map(({ treatment, count }) => `${count} ${treatment}`).join(', ') || 'none';
  return sentence(
    `${counted(many, 'participant')} whom ${user} randomized ${them} voided, and somebody with the same levels was randomized within 24 hours`,
    differed !== undefined && `the second arm differed in ${differed} of ${many}`,
    kept && `kept: ${arms}`,
  );
}

function undoneText({ setting, amendment, by, undoneWith, undoneBy, randomized }: UndoneAmendment): string {
  const between = `${counted(randomized.length, 'randomization')} in between`;
  return sentence(
    `amendment ${amendment} by ${by} was undone with amendment ${undoneWith} by ${undoneBy} (${setting})`,
    randomized.length > 0 ? `${between}: ${randomized.join(', ')}` : between,
  );
}
