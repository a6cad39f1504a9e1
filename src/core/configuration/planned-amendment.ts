/** The amendment that a studies file asks for: its changes, what no amendment can do, and what may be a mistake. */

import type { Protocol } from '../../../events/define.ts';
import type { DesignChange } from '../../../events/study.ts';
import { quote } from '../../base/text.ts';
import { amendedDesign, type Design } from '../model/design.ts';
import { amendmentOf } from '../study/amendments.ts';
import type { Amend } from '../study/commands.ts';
import type { Study } from '../study/studies.ts';
import { changesTo, type LevelRenamed } from './changes.ts';
import {
  type ConfigurationDifference,
  compare,
  configurationDifferences,
  describeDifference,
  type StudyInFile,
} from './differences.ts';

/** What is asked for besides what the file says. */
export interface AmendmentRequest
  extends Pick<Amend, 'user' | 'reason' | 'approvals' | 'history' | 'protocol' | 'askedAt'> {
  /** The file cannot tell them from one level closed and another added. */
  readonly renamings: readonly LevelRenamed[];
  /** Arms on which nobody gets packs any more. */
  readonly stop: readonly string[];
}

export interface PlannedAmendment {
  readonly command: Amend;
  /** Settings in which the file would still differ from the design, and why. */
  readonly unchangeable: readonly { readonly setting: string; readonly why: string }[];
}

/** @param request its protocol is that of the study from then on, unless the file names one */
export function plannedAmendment(
  { registered, design }: Study,
  file: StudyInFile,
  { renamings, stop, ...request }: AmendmentRequest,
): PlannedAmendment {
  const changes = [
    ...changesTo(file, registered, design, renamings),
    ...stop.map((treatment): DesignChange => ({ kind: 'arm-stopped', treatment })),
  ];
  const protocol = file.configuration.protocol ?? request.protocol;
  const command: Amend = {
    ...{ ...request, type: 'amend', amendment: design.amendment + 1, changes },
    protocol: isSameProtocol(protocol, design.protocol) ? undefined : protocol,
  };
  const after = amendedDesign(design, amendmentOf(command, design));
  return {
    command,
    unchangeable: configurationDifferences(registered, after, file).map((difference) => ({
      setting: difference.what,
      why: whyUnchangeable(difference, design),
    })),
  };
}

function whyUnchangeable(difference: ConfigurationDifference, { factors, method }: Design): string {
  const { what, inForce, file } = difference;
  if (what === 'method') {
    const sizes = method.name === 'blocks' ? '; sizes are for the slots of the arms in the file' : '';
    return `the method and its parameters are fixed at registration (hint: restore them, or register a study with a new name${sizes})`;
  }
  const name = /^factors\.(.*)$/s.exec(what)?.[1];
  if (name === undefined || inForce !== undefined || file === undefined)
    return `${describeDifference(difference)}, which no amendment can change (hint: restore it, or register a study with a new name)`;
  return factors.some((factor) => factor.name === name)
    ? `the factor ${quote(name)} is retired, and a retired factor never returns (hint: take it out of the file)`
    : `the factor ${quote(name)} is new: nobody has a level of it yet, so its urns would have no counts (hint: register a successor study that has it, under another name)`;
}

export function isSameProtocol(one: Protocol | undefined, other: Protocol | undefined): boolean {
  return one?.version === other?.version && one?.date === other?.date;
}

export type AmendmentDoubt =
  /** The file describes an earlier design, and may not be up to date. */
  | { readonly about: 'earlier-design' }
  /** Levels that close and levels that are new may be the same ones under two names. */
  | {
      readonly about: 'renamed-level';
      readonly factor: string;
      readonly closed: readonly string[];
      readonly added: readonly string[];
    }
  /** An arm that closes and one that is new may be the same. No amendment renames an arm: every record of its participants would name a different one. */
  | { readonly about: 'renamed-arm' };

/**
 * What may be a mistake.
 * @param designs all that the study has had, in order
 */
export function amendmentDoubts(
  { registered }: Study,
  designs: readonly Design[],
  file: StudyInFile,
  changes: readonly DesignChange[],
): AmendmentDoubt[] {
  const has = (kind: DesignChange['kind']) => changes.some((change) => change.kind === kind);
  const levels = (kind: DesignChange['kind'], factor: string) =>
    changes.flatMap((change) =>
      change.kind === kind && 'level' in change && change.factor === factor ? [change.level] : [],
    );
  const renamed = file.configuration.factors
    .map(({ name: factor }) => ({
      ...{ about: 'renamed-level' as const, factor },
      ...{ closed: levels('level-closed', factor), added: levels('level-added', factor) },
    }))
    .filter(({ closed, added }) => closed.length > 0 && added.length > 0);
  return [
    ...(compare(registered, designs, file).standing === 'behind'
      ? [{ about: 'earlier-design' } as const]
      : []),
    ...renamed,
    ...(has('arm-closed') && has('arm-added') ? [{ about: 'renamed-arm' } as const] : []),
  ];
}
