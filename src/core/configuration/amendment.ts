/**
 * The amendment that a studies file asks for: the changes that make the design in force what the file says, what no amendment
 * can do, what may be a mistake, and each change in words.
 */
import type { Protocol } from '../../../events/define.ts';
import { canonicalJson } from '../../../events/record.ts';
import type { DesignChange, Limits } from '../../../events/study.ts';
import { quote } from '../../base/text.ts';
import { counted } from '../../base/wording.ts';
import {
  activeFactors,
  amendedDesign,
  changedDesign,
  type Design,
  type Factor,
  limitTexts,
  openTreatments,
  ratioOf,
  urnText,
  visitsText,
} from '../model/design.ts';
import { amendmentOf } from '../study/amendments.ts';
import type { Amend } from '../study/commands.ts';
import { slotsOf } from '../study/force.ts';
import type { Study } from '../study/studies.ts';
import {
  type ConfigurationDifference,
  compare,
  configurationDifferences,
  describeDifference,
  POLICY_NAMES,
  type RegisteredConfiguration,
  requestedDesign,
  resultingLimits,
  type StudyInFile,
} from './differences.ts';
import { POLICY_KEYS } from './settings.ts';

export type LevelRenamed = Extract<DesignChange, { kind: 'level-renamed' }>;

/** What is asked for besides what the file says. */
interface AmendmentRequest extends Pick<Amend, 'user' | 'reason' | 'approvals' | 'history' | 'protocol'> {
  /** The file cannot tell them from one level closed and another added. */
  readonly renamings: readonly LevelRenamed[];
  /** Arms on which nobody gets packs any more. */
  readonly stop: readonly string[];
}

interface PlannedAmendment {
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

/**
 * In the order in which they must be applied. Differences that no change can make are left out, so the file still differs
 * from the resulting design.
 * @param renamings what the file cannot say, because a renamed level looks like one level closed and another added
 */
export function changesTo(
  file: StudyInFile,
  registered: RegisteredConfiguration,
  design: Design,
  renamings: readonly LevelRenamed[],
): DesignChange[] {
  const requested = requestedDesign(registered, file);
  const renamed = renamings.reduce(changedDesign, design);
  const urns = [
    ...activeFactors(renamed).flatMap((factor) => levelChanges(factor, requested.factors)),
    ...factorRetirements(renamed, requested),
    ...urnChange(renamed, requested),
    ...armChanges(renamed, requested),
  ];
  const after = urns.reduce(changedDesign, renamed);
  return [
    ...renamings,
    // Before the arms: the name of a new arm may be that of a visit that is gone.
    ...visitsChange(design, requested),
    ...urns,
    ...limitsChange(after, requested.limits),
    ...otherChanges(after, requested),
    ...armClosings(renamed, requested),
  ];
}

/** Levels are closed last, so that a factor never has none. */
function levelChanges(
  { name: factor, levels, closed }: Factor,
  requested: readonly Factor[],
): DesignChange[] {
  const listed = requested.find(({ name }) => name === factor)?.levels;
  if (!listed) return [];
  const added = listed.filter((level) => !levels.includes(level));
  const reopened = closed.filter((level) => listed.includes(level));
  const goes = levels.filter((level) => !listed.includes(level) && !closed.includes(level));
  return [
    ...added.map((level) => ({ kind: 'level-added', factor, level }) as const),
    ...reopened.map((level) => ({ kind: 'level-reopened', factor, level }) as const),
    ...goes.map((level) => ({ kind: 'level-closed', factor, level }) as const),
  ];
}

function factorRetirements(design: Design, requested: Design): DesignChange[] {
  return activeFactors(design)
    .filter(({ name }) => requested.factors.every((factor) => factor.name !== name))
    .map(({ name }) => ({ kind: 'factor-retired', factor: name }));
}

/** Only what is different. */
function urnChange({ method: design }: Design, { method }: Design): DesignChange[] {
  if (design.name !== 'urn' || method.name !== 'urn') return [];
  const { w, alpha, beta, D } = method;
  const change = {
    ...(w !== design.w && { w }),
    ...(alpha !== design.alpha && { alpha }),
    ...(beta !== design.beta && { beta }),
    ...(D !== design.D && { D }),
  };
  return Object.keys(change).length > 0 ? [{ kind: 'urn', ...change }] : [];
}

/** The arms that are added or reopened, and the ratio. A new ratio names every arm, so a new arm needs no number of its own. */
function armChanges(design: Design, requested: Design): DesignChange[] {
  const { treatments, closedTreatments } = design;
  const added = requested.treatments.filter((treatment) => !treatments.includes(treatment));
  const share = (treatment: string) => slotsOf(requested, treatment).length;
  const present = ratioOf(design);
  const value = [...treatments, ...added].map((treatment, i) => share(treatment) || (present[i] ?? 1));
  const isNewRatio = present.some((number, i) => number !== value[i]);
  return [
    ...closedTreatments
      .filter((treatment) => requested.treatments.includes(treatment))
      .map((treatment) => ({ kind: 'arm-reopened', treatment }) as const),
    ...added.map((treatment): DesignChange => {
      const ratio = share(treatment);
      return { kind: 'arm-added', treatment, ...(!isNewRatio && ratio > 1 && { ratio }) };
    }),
    ...(isNewRatio ? [{ kind: 'ratio', value } as const] : []),
  ];
}

function visitsChange(design: Design, { visits }: Design): DesignChange[] {
  return canonicalJson(visits) === canonicalJson(design.visits)
    ? []
    : [{ kind: 'visits', value: [...visits] }];
}

function limitsChange(design: Design, requested: Limits | undefined): DesignChange[] {
  const value = resultingLimits(requested, design);
  if (canonicalJson(value ?? null) === canonicalJson(design.limits ?? null)) return [];
  return [{ kind: 'limits', ...(value && { value }) }];
}

function otherChanges(design: Design, requested: Design): DesignChange[] {
  const { idPattern, target, blinding } = requested;
  return [
    ...(idPattern === design.idPattern
      ? []
      : [{ kind: 'id-pattern' as const, ...(idPattern !== undefined && { value: idPattern }) }]),
    ...(target === design.target
      ? []
      : [{ kind: 'target' as const, ...(target !== undefined && { value: target }) }]),
    ...(blinding === design.blinding ? [] : [{ kind: 'blinding' as const, value: blinding }]),
    ...POLICY_NAMES.filter((name) => requested.policies[name] !== design.policies[name]).map(
      (name) => ({ kind: 'policy', name, value: requested.policies[name] }) as DesignChange,
    ),
  ];
}

function armClosings(design: Design, requested: Design): DesignChange[] {
  return openTreatments(design)
    .filter((treatment) => !requested.treatments.includes(treatment))
    .map((treatment) => ({ kind: 'arm-closed', treatment }));
}

export function isSameProtocol(one: Protocol | undefined, other: Protocol | undefined): boolean {
  return one?.version === other?.version && one?.date === other?.date;
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
  /**
   * An arm that closes and one that is new may be the same. No amendment renames an arm: every record of its participants
   * would name a different one.
   */
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
    ...(compare(registered, designs, file).result === 'behind' ? [{ about: 'earlier-design' } as const] : []),
    ...renamed,
    ...(has('arm-closed') && has('arm-added') ? [{ about: 'renamed-arm' } as const] : []),
  ];
}

/** The setting of the studies file that a change is about: `limits`, or `factors.sex`. */
export function settingOf(change: DesignChange): string {
  switch (change.kind) {
    case 'limits':
    case 'blinding':
    case 'visits':
      return change.kind;
    case 'id-pattern':
      return 'id_pattern';
    case 'target':
      return 'target_enrollment';
    case 'policy':
      return `policies.${POLICY_KEYS[change.name]}`;
    case 'arm-closed':
    case 'arm-reopened':
    case 'arm-added':
    case 'arm-stopped':
      return 'treatments';
    case 'ratio':
      return 'ratio';
    case 'urn':
      return (['w', 'alpha', 'beta'] as const).find((name) => change[name] !== undefined) ?? 'D';
    case 'factor-retired':
      return 'factors';
    default:
      return `factors.${change.factor}`;
  }
}

/** What differs from then on. */
export function describeChange(change: DesignChange): string {
  switch (change.kind) {
    case 'level-added':
      return `new level ${quote(change.level)}`;
    case 'level-closed':
      return `${quote(change.level)} takes no new participants`;
    case 'level-reopened':
      return `${quote(change.level)} takes participants again, with its urn as it was`;
    case 'level-renamed': {
      const { level, to, alias } = change;
      const old = alias ? `; requests may still say ${quote(level)}` : '';
      return `${quote(level)} is called ${quote(to)}${old}`;
    }
    case 'factor-retired':
      return `${quote(change.factor)} is retired: never drawn from again, and no longer asked for`;
    case 'arm-closed':
      return `${quote(change.treatment)} takes no new participants`;
    case 'arm-reopened':
      return `${quote(change.treatment)} takes participants again, with its counts as they were`;
    case 'arm-stopped':
      return `nobody on ${quote(change.treatment)} gets packs any more, until it is reopened`;
    case 'arm-added': {
      const { treatment, ratio } = change;
      return `new arm ${quote(treatment)}${ratio === undefined ? '' : `, with ${counted(ratio, 'slot')}`}`;
    }
    case 'visits':
      return visitsText(change.value);
    case 'ratio':
      return change.value.join(':');
    case 'urn':
      return urnText(change);
    case 'limits':
      return limitTexts(change.value).join('; ') || 'none';
    case 'id-pattern':
      return change.value ?? 'none';
    case 'target':
      return change.value === undefined ? 'none' : `${counted(change.value, 'participant')}`;
    case 'blinding':
    case 'policy':
      return String(change.value);
  }
}
