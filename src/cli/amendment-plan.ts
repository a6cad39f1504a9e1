/** The amendment that a studies file asks for: its changes, what is not possible, and what may be a mistake. */
import type { DesignChange, History } from '../../events/amendment.ts';
import type { Protocol } from '../../events/text.ts';
import { activeFactors, amendedDesign, type Design } from '../../projections/design.ts';
import { quote } from '../base/text.ts';
import { changesTo } from '../core/configuration/changes.ts';
import {
  type ConfigurationDifference,
  compare,
  configurationDifferences,
  describeDifference,
} from '../core/configuration/differences.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import type { FieldProblem } from '../core/model/outcomes.ts';
import { amendmentOf, newNameProblems } from '../core/study/amendments.ts';
import type { Amend } from '../core/study/commands.ts';
import type { Study } from '../core/study/studies.ts';
import { APPROVAL_EXAMPLE, type Decision } from './approvals.ts';
import { describeChange, settingOf } from './design-text.ts';
import { cliActor } from './options.ts';
import { readRenamings } from './rename-option.ts';

export interface AmendRequest {
  /** What the studies file says. */
  readonly file: ConfiguredStudy;
  readonly reason: string;
  readonly decision: Decision;
  /** `FACTOR:OLD=NEW`. */
  readonly rename: readonly string[];
  readonly alias: boolean;
  /** Arms on which nobody gets packs any more. */
  readonly stop: readonly string[];
  /** Undefined: the default for these changes. */
  readonly history: History | undefined;
}

export interface Plan {
  readonly command: Amend;
  /** What no amendment can do, in sentences. */
  readonly problems: readonly string[];
}

export function planOf({ registered, design }: Study, asked: AmendRequest): Plan {
  const { file, reason, decision, rename, alias, stop, history } = asked;
  const { renamings, problems } = readRenamings(
    rename,
    alias,
    { factors: activeFactors(design) },
    file.configuration.factors,
  );
  const changes = [
    ...changesTo(file, registered, design, renamings),
    ...stop.map((treatment): DesignChange => ({ kind: 'arm-stopped', treatment })),
  ];
  const protocol = file.configuration.protocol ?? decision.protocol;
  const command: Amend = {
    ...{ type: 'amend', user: cliActor().user, amendment: design.amendment + 1 },
    askedAt: new Date().toISOString(),
    ...{ changes, reason, approvals: decision.approvals, history },
    protocol: isSame(protocol, design.protocol) ? undefined : protocol,
  };
  const after = amendedDesign(design, amendmentOf(command));
  return {
    command,
    problems: [
      ...problems,
      ...protocolProblems(asked),
      ...configurationDifferences(registered, after, file).map(
        (difference) => `${at(file, difference.what)}: ${whyNoAmendment(difference, design)}`,
      ),
      ...newNameProblems(changes).map((problem) => problemText(problem, changes, file)),
    ],
  };
}

function whyNoAmendment(difference: ConfigurationDifference, { factors }: Design): string {
  const { what, inForce, file } = difference;
  const name = /^factors\.(.*)$/s.exec(what)?.[1];
  if (name === undefined || inForce !== undefined || file === undefined)
    return `${describeDifference(difference)}, which no amendment can change (hint: restore it, or register a study with a new name)`;
  return factors.some((factor) => factor.name === name)
    ? `the factor ${quote(name)} is retired, and a retired factor never returns (hint: take it out of the file)`
    : `the factor ${quote(name)} is new: nobody has a level of it yet, so its urns would have no counts (hint: register a successor study that has it, under another name)`;
}

/** The file would differ as soon as the amendment is recorded. */
function protocolProblems({ file, decision: { protocol } }: AmendRequest): string[] {
  const stated = file.configuration.protocol;
  if (!stated || !protocol || isSame(stated, protocol)) return [];
  return [
    `${at(file, 'protocol')}: the file names a different protocol from --protocol (hint: bring it up to date)`,
  ];
}

function isSame(one: Protocol | undefined, other: Protocol | undefined): boolean {
  return one?.version === other?.version && one?.date === other?.date;
}

/** A problem of a change, with the line of the file that asks for it. */
export function problemText(
  { field, why }: FieldProblem,
  changes: readonly DesignChange[],
  file: ConfiguredStudy,
): string {
  const [, index] = /^changes\[(\d+)\]/.exec(field) ?? [];
  const change = index === undefined ? undefined : changes[Number(index)];
  if (change?.kind === 'arm-stopped') return `--stop ${quote(change.treatment)}: ${why}`;
  if (change)
    return `${at(file, settingOf(change))}: ${settingOf(change)}: ${describeChange(change)}: ${why}`;
  if (field === 'approvals') return `${why} (hint: --approved-by '${APPROVAL_EXAMPLE}')`;
  return field === 'history' ? `--history: ${why}` : `${field}: ${why}`;
}

/** The line of a setting, in the form that compilers use. */
function at({ file, lineOf }: ConfiguredStudy, setting: string): string {
  return `${file}:${lineOf(setting)}`;
}

/**
 * What may be a mistake.
 * @param designs all that the study has had, in order
 */
export function doubts(
  { registered }: Study,
  designs: readonly Design[],
  file: ConfiguredStudy,
  changes: readonly DesignChange[],
): string[] {
  const isBehind = compare(registered, designs, file).standing === 'behind';
  return [
    ...(isBehind
      ? [
          'warning: the file describes an earlier design, so this reverts what was amended since (hint: is it up to date?)',
        ]
      : []),
    ...file.configuration.factors.flatMap(({ name }) => renamingHint(name, changes)),
    ...armsHint(changes),
  ];
}

function renamingHint(factor: string, changes: readonly DesignChange[]): string[] {
  const goes = levelsThat('level-closed', factor, changes);
  const comes = levelsThat('level-added', factor, changes);
  if (goes.length === 0 || comes.length === 0) return [];
  const pair = goes.length + comes.length === 2 ? `${goes[0]}=${comes[0]}` : 'OLD=NEW';
  return [
    `hint: ${factor} loses one level and gains another; if they are the same level under two names, use --rename ${quote(`${factor}:${pair}`)}`,
  ];
}

/** No amendment renames an arm: every record of its participants would name a different one. */
function armsHint(changes: readonly DesignChange[]): string[] {
  const has = (kind: DesignChange['kind']) => changes.some((change) => change.kind === kind);
  return has('arm-closed') && has('arm-added')
    ? [
        'hint: one arm is closed and another is added; an arm cannot be renamed, so if it is the same treatment, write its old name',
      ]
    : [];
}

function levelsThat(kind: DesignChange['kind'], factor: string, changes: readonly DesignChange[]): string[] {
  return changes.flatMap((change) =>
    change.kind === kind && 'level' in change && change.factor === factor ? [change.level] : [],
  );
}
