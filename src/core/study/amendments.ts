/** Amendments of a study's design: the fact that a command asks for, and why it is not possible. */
import { canonicalJson } from '../../../events/record.ts';
import type { Amendment, DesignChange, History, Limits, StudyConfiguration } from '../../../events/study.ts';
import { newNameProblem, quote } from '../../base/text.ts';
import {
  activeFactors,
  changedDesign,
  type Design,
  declaredVisit,
  type Factor,
  openLevels,
  openTreatments,
  ratioOf,
  ratioProblem,
  revealsArm,
  tooManySlots,
  visitProblems,
} from '../model/design.ts';
import { approvalProblems, protocolProblems } from '../model/members.ts';
import type { Model } from '../model/model.ts';
import type { FieldProblem, StudyOutcome } from '../model/outcomes.ts';
import { linearPatternProblem } from '../model/participant-id.ts';
import { presentPacks } from '../model/participants.ts';
import type { Amend } from './commands.ts';

type ChangeOf<K extends DesignChange['kind']> = Extract<DesignChange, { kind: K }>;
type LevelChange = ChangeOf<'level-added' | 'level-closed' | 'level-reopened' | 'level-renamed'>;

/** The data of the fact, whether or not it is possible. */
export function amendmentOf(
  { amendment, approvals, changes, history, protocol, reason }: Amend,
  design: Pick<Design, 'method'>,
): Amendment {
  const effective = history ?? defaultHistory(changes, design);
  return {
    amendment,
    approvals: [...approvals],
    changes: [...changes],
    ...(effective && { history: effective }),
    ...(protocol && { protocol }),
    reason,
  };
}

/** Undefined if no change touches what the method draws from. */
export function defaultHistory(
  changes: readonly DesignChange[],
  { method }: Pick<Design, 'method'>,
): History | undefined {
  if (!changes.some(touchesDraws)) return undefined;
  return changes.some(({ kind }) => RESTARTING[method.name].includes(kind)) ? 'restart' : 'keep';
}

type Kind = DesignChange['kind'];

/** With which changes a method begins anew, unless it is said that it goes on. A new arm must not catch up. */
const RESTARTING: Readonly<Record<Design['method']['name'], readonly Kind[]>> = {
  urn: ['arm-added', 'ratio'],
  complete: ['arm-added', 'ratio'],
  blocks: ['arm-added', 'arm-closed', 'arm-reopened', 'ratio'],
  minimization: ['arm-added', 'arm-reopened', 'ratio'],
  list: ['arm-added', 'arm-closed', 'arm-reopened', 'ratio'],
};

/** Methods that cannot go on where they begin anew by default. */
const NEVER_KEPT: Readonly<Partial<Record<Design['method']['name'], string>>> = {
  blocks: 'blocks cannot go on with other arms',
  list: 'a list cannot go on with other arms',
};

/** Whether the change alters what the method draws from, or what it counts. */
function touchesDraws({ kind }: DesignChange): boolean {
  return /^(?:level|factor)-|^arm-(?!stopped$)|^urn$|^ratio$/.test(kind);
}

const OWN_RATIO = 'a list holds its own ratio';

/** Somebody else amended the study since the changes were written. */
export function staleAmendment(
  { amendment: last }: Design,
  { amendment }: Amendment,
): StudyOutcome | undefined {
  if (amendment === last + 1) return undefined;
  return { type: 'stale', why: `the next amendment is number ${last + 1}`, field: 'amendment' };
}

/** The visits, as recorded, for which somebody has a pack. */
type Used = () => ReadonlySet<string>;
const NONE: Used = () => new Set();

export function usedVisits({ participants }: Pick<Model, 'participants'>): ReadonlySet<string> {
  const used = new Set<string>();
  for (const participant of participants.all())
    for (const { visit } of presentPacks(participant)) used.add(visit);
  return used;
}

/**
 * Why the amendment is not possible; undefined if it is.
 * @param used called only if visits change
 */
export function amendmentProblem(
  before: Design,
  { approvals, changes, history, protocol }: Amendment,
  at: string,
  used: Used = NONE,
): StudyOutcome | undefined {
  const problems = [
    ...approvalProblems(approvals, at, before.mode, 'a live study can be amended only with an approval'),
    ...protocolProblems(protocol),
    ...changesProblems(before, changes, used),
    ...historyProblems(changes, history, before),
  ];
  if (changes.length === 0 && !protocol)
    problems.push({ field: 'changes', why: 'there is nothing to change, and no protocol' });
  return problems.length > 0 ? { type: 'not-amendable', problems } : undefined;
}

/** Whether the counts may go on in spite of these changes. */
export function mayKeep(changes: readonly DesignChange[], design: Design): boolean {
  return historyProblems(changes, 'keep', design).length === 0;
}

function historyProblems(
  changes: readonly DesignChange[],
  history: History | undefined,
  { method }: Design,
): FieldProblem[] {
  const drawnFrom = method.name === 'urn' ? 'the urns' : 'what is drawn from';
  if (history !== undefined && !changes.some(touchesDraws))
    return [{ field: 'history', why: `no change touches ${drawnFrom} (hint: leave it out)` }];
  const why = NEVER_KEPT[method.name];
  if (why && history === 'keep' && defaultHistory(changes, { method }) === 'restart')
    return [{ field: 'history', why: `it must be restart: ${why}` }];
  const isNewRatio = changes.some(({ kind }) => kind === 'ratio');
  return isNewRatio && history === 'keep'
    ? [{ field: 'history', why: `a new ratio makes new slots, so ${drawnFrom} must restart` }]
    : [];
}

/** Each change is judged by the design that the previous changes make, and the final design as a whole. */
function changesProblems(before: Design, changes: readonly DesignChange[], used: Used): FieldProblem[] {
  const problems: FieldProblem[] = [];
  let design = before;
  for (const [i, change] of changes.entries()) {
    const problem = changeProblem(design, change, used);
    if (problem) problems.push({ ...problem, field: `changes[${i}].${problem.field}` });
    else design = changedDesign(design, change);
  }
  return problems.length > 0 ? problems : resultProblems(design, changes);
}

/** What a study cannot do without. The problem is reported for the last change that takes it away. */
function resultProblems(design: Design, changes: readonly DesignChange[]): FieldProblem[] {
  const at = (applies: (change: DesignChange) => boolean) => `changes[${changes.findLastIndex(applies)}]`;
  const problems: FieldProblem[] = [];
  if (openTreatments(design).length < 2)
    problems.push({
      field: `${at(({ kind }) => kind === 'arm-closed')}.treatment`,
      why: 'fewer than two arms would be open',
    });
  if (activeFactors(design).length === 0)
    problems.push({
      field: `${at(({ kind }) => kind === 'factor-retired')}.factor`,
      why: 'it is the last factor',
    });
  for (const factor of activeFactors(design)) {
    if (openLevels(factor).length > 0) continue;
    const isClosing = (change: DesignChange) =>
      change.kind === 'level-closed' && change.factor === factor.name;
    problems.push({ field: `${at(isClosing)}.level`, why: 'no level of the factor would be open' });
  }
  return problems;
}

function changeProblem(design: Design, change: DesignChange, used: Used): FieldProblem | undefined {
  if (isLevelChange(change)) {
    const factor = activeFactor(design, change.factor);
    return 'why' in factor ? factor : levelProblem(factor, change);
  }
  switch (change.kind) {
    case 'factor-retired': {
      const factor = activeFactor(design, change.factor);
      if ('why' in factor) return factor;
      const { method } = design;
      if (!('by' in method) || !method.by.includes(factor.name)) return undefined;
      const are = method.name === 'list' ? 'the list is' : 'blocks are';
      return { field: 'factor', why: `${are} within the factor ${factor.name}` };
    }
    case 'arm-closed':
    case 'arm-reopened':
    case 'arm-added':
    case 'arm-stopped':
      return armProblem(design, change);
    case 'visits': {
      const problem = visitsProblem(design, change.value, used);
      if (problem) return problem;
      break;
    }
    case 'urn':
      return urnProblem(design, change);
    case 'ratio': {
      const why = design.method.name === 'list' ? OWN_RATIO : ratioProblem(design.treatments, change.value);
      if (why !== undefined) return { field: 'value', why };
      break;
    }
  }
  if (isSame(design, change)) return { field: 'kind', why: 'it is so already' };
  if (change.kind === 'limits') return change.value && limitsProblem(design, change.value, 'value');
  if (change.kind !== 'id-pattern' || change.value === undefined) return undefined;
  const problem = linearPatternProblem(change.value);
  return problem && { field: 'value', why: `the pattern ${problem.reason} (hint: ${problem.hint})` };
}

function isLevelChange(change: DesignChange): change is LevelChange {
  return change.kind.startsWith('level-');
}

/** A retired factor never changes. */
function activeFactor({ factors }: Design, name: string): Factor | FieldProblem {
  const factor = factors.find((one) => one.name === name);
  if (!factor) return { field: 'factor', why: 'the study has no such factor' };
  return factor.isRetired ? { field: 'factor', why: 'the factor is retired' } : factor;
}

function armProblem(
  { method, treatments, closedTreatments, stoppedTreatments, slots, visits }: Design,
  change: ChangeOf<'arm-closed' | 'arm-reopened' | 'arm-added' | 'arm-stopped'>,
): FieldProblem | undefined {
  const { treatment } = change;
  const isClosed = closedTreatments.includes(treatment);
  const field = 'treatment';
  if (change.kind === 'arm-added') {
    if (isClosed) return { field, why: 'a closed arm has this name (hint: reopen it)' };
    if (treatments.includes(treatment)) return { field, why: 'an arm has this name' };
    const visit = visits.find((one) => revealsArm(one, [treatment]));
    if (visit !== undefined) return { field, why: `the visit ${quote(visit)} is, or contains, this name` };
    const { ratio = 1 } = change;
    const why = method.name === 'list' && ratio > 1 ? OWN_RATIO : tooManySlots(slots.length + ratio);
    return why === undefined ? undefined : { field: 'ratio', why };
  }
  if (!treatments.includes(treatment)) return { field, why: 'the study has no such treatment' };
  if (change.kind === 'arm-closed') return isClosed ? { field, why: 'it is closed already' } : undefined;
  if (!isClosed) return { field, why: 'it is not closed' };
  return change.kind === 'arm-stopped' && stoppedTreatments.includes(treatment)
    ? { field, why: 'it is stopped already' }
    : undefined;
}

/** A visit for which somebody has a pack stays, and is written as it is recorded. */
function visitsProblem(before: Design, visits: readonly string[], used: Used): FieldProblem | undefined {
  const [wrong] = visitProblems(visits, before.treatments);
  if (wrong)
    return { field: `value[${wrong.index}]`, why: `${quote(visits[wrong.index] ?? '')} ${wrong.why}` };
  const all = [...used()];
  const otherwise = all.filter((visit) => ![visit, undefined].includes(declaredVisit({ visits }, visit)));
  const gone = all.filter(
    (visit) => declaredVisit({ visits }, visit) === undefined && declaredVisit(before, visit),
  );
  const has = (which: readonly string[]) => `somebody has a pack for ${which.map(quote).join(', ')}`;
  const problems = [
    ...(gone.length > 0 ? [`${has(gone)}: a visit with packs stays`] : []),
    ...(otherwise.length > 0 ? [`${has(otherwise)}: it must be written like that`] : []),
  ];
  return problems.length > 0 ? { field: 'value', why: problems.join('; ') } : undefined;
}

/** Members that do not change must be left out, so that each change has a single form. */
function urnProblem(design: Design, { kind: _, ...parameters }: ChangeOf<'urn'>): FieldProblem | undefined {
  const given = Object.entries(parameters) as [keyof typeof parameters, unknown][];
  if (given.length === 0) return { field: 'kind', why: 'it says nothing of w, alpha, beta and D' };
  const { method } = design;
  if (method.name !== 'urn') return { field: 'kind', why: 'the study has no urns' };
  const same = given.find(([name, value]) => method[name] === value);
  return same && { field: same[0], why: 'it is so already' };
}

function levelProblem(factor: Factor, change: LevelChange): FieldProblem | undefined {
  const { level } = change;
  if (change.kind === 'level-added') return nameTaken(factor, level, 'level');
  if (!factor.levels.includes(level)) return { field: 'level', why: noSuchLevel(factor, level) };
  const isClosed = factor.closed.includes(level);
  switch (change.kind) {
    case 'level-closed':
      return isClosed ? { field: 'level', why: 'it is closed already' } : undefined;
    case 'level-reopened':
      return isClosed ? undefined : { field: 'level', why: 'it is not closed' };
    case 'level-renamed':
      if (change.to === level) return { field: 'to', why: 'it has this name already' };
      return isOwnEarlierName(factor, level, change.to) ? undefined : nameTaken(factor, change.to, 'to');
  }
}

function noSuchLevel({ earlierNames }: Factor, level: string): string {
  const now = earlierNames.find(({ name }) => name === level)?.now;
  return now === undefined ? 'the factor has no such level' : `it is called ${JSON.stringify(now)} now`;
}

/** A level may go back to a name that it had. */
function isOwnEarlierName({ earlierNames }: Factor, level: string, name: string): boolean {
  return earlierNames.some((earlier) => earlier.name === name && earlier.now === level);
}

/** A name means the same level forever: records keep the old names of levels. */
function nameTaken(
  { levels, closed, earlierNames }: Factor,
  name: string,
  field: string,
): FieldProblem | undefined {
  if (closed.includes(name)) return { field, why: 'a closed level has this name (hint: reopen it)' };
  if (levels.includes(name)) return { field, why: 'a level has this name' };
  return earlierNames.some((earlier) => earlier.name === name)
    ? { field, why: 'a level had this name, and records still have it' }
    : undefined;
}

function isSame(
  design: Design,
  change: ChangeOf<'ratio' | 'visits' | 'limits' | 'id-pattern' | 'target' | 'blinding' | 'policy'>,
): boolean {
  switch (change.kind) {
    case 'visits':
      return canonicalJson(design.visits) === canonicalJson(change.value);
    case 'ratio':
      return ratioOf(design).join() === change.value.join();
    case 'limits':
      return text(design.limits) === text(change.value);
    case 'id-pattern':
      return design.idPattern === change.value;
    case 'target':
      return design.target === change.value;
    case 'blinding':
      return design.blinding === change.value;
    case 'policy':
      return design.policies[change.name] === change.value;
  }
}

function text(limits: Limits | undefined): string | undefined {
  return limits && canonicalJson(limits);
}

/**
 * Each limit must be for a level of the study, without repetition and in the order of the design, so that the same limits
 * have a single form.
 * @param at the path of the limits in the fact
 */
export function limitsProblem(
  { factors }: Pick<StudyConfiguration, 'factors'> | Pick<Design, 'factors'>,
  limits: Limits,
  at: string,
): FieldProblem | undefined {
  if (Object.keys(limits).length === 0) return { field: at, why: 'without a limit it is left out' };
  let last: readonly [number, number] = [-1, -1];
  for (const [i, { factor, level }] of (limits.levels ?? []).entries()) {
    const field = `${at}.levels[${i}]`;
    const place = factors.findIndex(({ name }) => name === factor);
    const levelPlace = factors[place]?.levels.indexOf(level) ?? -1;
    if (levelPlace < 0) return { field, why: 'the study has no such level' };
    if (place < last[0] || (place === last[0] && levelPlace <= last[1]))
      return { field, why: 'it stands twice, or not in the order of the design' };
    last = [place, levelPlace];
  }
  return undefined;
}

/** Rules for new names, checked only at the edges of the program: Unicode grows, and what is recorded stays valid. */
export function newNameProblems(changes: readonly DesignChange[]): FieldProblem[] {
  return changes.flatMap((change, i) => {
    const [field, name] =
      change.kind === 'level-added'
        ? ['level', change.level]
        : change.kind === 'level-renamed'
          ? ['to', change.to]
          : change.kind === 'arm-added'
            ? ['treatment', change.treatment]
            : [];
    const problem = name === undefined ? undefined : newNameProblem(name);
    return problem === undefined ? [] : [{ field: `changes[${i}].${field}`, why: `the name ${problem}` }];
  });
}
