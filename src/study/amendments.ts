/** Amendments of a study's design: the fact that a command asks for, and why it is not possible. */
import type { Amendment, DesignChange } from '../../events/amendment.ts';
import { canonicalJson } from '../../events/record.ts';
import type { Limits, StudyConfiguration } from '../../events/study.ts';
import { changedDesign, type Design, type Factor, openLevels } from '../../projections/design.ts';
import { newNameProblem } from '../base/names.ts';
import { approvalProblems, protocolProblems } from './approvals.ts';
import type { Amend, FieldProblem, StudyOutcome } from './commands.ts';
import { linearPatternProblem } from './linear-pattern.ts';

type Of<K extends DesignChange['kind']> = Extract<DesignChange, { kind: K }>;
type LevelChange = Of<'level-added' | 'level-closed' | 'level-reopened' | 'level-renamed'>;

/** The fact's data, whether or not it is possible. */
export function amendmentOf({ amendment, approvals, changes, protocol, reason }: Amend): Amendment {
  return {
    amendment,
    approvals: [...approvals],
    changes: [...changes],
    ...(changes.some(touchesUrns) && { history: 'keep' as const }),
    ...(protocol && { protocol }),
    reason,
  };
}

/** Whether the urns have other levels, or levels of other names, behind the change. */
function touchesUrns({ kind }: DesignChange): boolean {
  return kind.startsWith('level-');
}

/** Somebody else amended the study since the changes were written. */
export function staleAmendment(
  { amendment: last }: Design,
  { amendment }: Amendment,
): StudyOutcome | undefined {
  if (amendment === last + 1) return undefined;
  return { type: 'stale', why: `the next amendment is number ${last + 1}`, field: 'amendment' };
}

/** Why the amendment is not possible; undefined if it is. */
export function amendmentProblem(
  before: Design,
  { approvals, changes, protocol }: Amendment,
): StudyOutcome | undefined {
  const problems = [
    ...approvalProblems(approvals, before.mode, 'a live study can be amended only with an approval'),
    ...protocolProblems(protocol),
    ...changesProblems(before, changes),
  ];
  if (changes.length === 0 && !protocol)
    problems.push({ field: 'changes', why: 'there is nothing to change, and no protocol' });
  return problems.length > 0 ? { type: 'not-amendable', problems } : undefined;
}

/** Each change is judged by the design that those before it make. */
function changesProblems(before: Design, changes: readonly DesignChange[]): FieldProblem[] {
  const problems: FieldProblem[] = [];
  let design = before;
  for (const [i, change] of changes.entries()) {
    const problem = changeProblem(design, change);
    if (problem) problems.push({ ...problem, field: `changes[${i}].${problem.field}` });
    else design = changedDesign(design, change);
  }
  return problems;
}

function changeProblem(design: Design, change: DesignChange): FieldProblem | undefined {
  if (isLevelChange(change)) {
    const factor = design.factors.find(({ name }) => name === change.factor);
    return factor ? levelProblem(factor, change) : { field: 'factor', why: 'the study has no such factor' };
  }
  if (isSame(design, change)) return { field: 'kind', why: 'it is so already' };
  if (change.kind === 'limits') return change.value && limitsProblem(design, change.value, 'value');
  if (change.kind !== 'id-pattern' || change.value === undefined) return undefined;
  const problem = linearPatternProblem(change.value);
  return problem && { field: 'value', why: `the pattern ${problem.reason} (hint: ${problem.hint})` };
}

function isLevelChange(change: DesignChange): change is LevelChange {
  return touchesUrns(change);
}

function levelProblem(factor: Factor, change: LevelChange): FieldProblem | undefined {
  const { level } = change;
  if (change.kind === 'level-added') return nameTaken(factor, level, 'level');
  if (!factor.levels.includes(level)) return { field: 'level', why: noSuchLevel(factor, level) };
  const isClosed = factor.closed.includes(level);
  switch (change.kind) {
    case 'level-closed':
      if (isClosed) return { field: 'level', why: 'it is closed already' };
      return openLevels(factor).length === 1
        ? { field: 'level', why: 'it is the only open level of the factor' }
        : undefined;
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

/** A level may return to a name that it had. */
function isOwnEarlierName({ earlierNames }: Factor, level: string, name: string): boolean {
  return earlierNames.some((earlier) => earlier.name === name && earlier.now === level);
}

/** A name means one level for ever: records keep the names that levels had. */
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

function isSame(design: Design, change: Exclude<DesignChange, LevelChange>): boolean {
  switch (change.kind) {
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
 * Each limit is of a level of the study, once, in the order of the design, so that the same limits have one form.
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

/** What no new name may be, for the edges of the program: Unicode grows, and what is recorded stays valid. */
export function newNameProblems(changes: readonly DesignChange[]): FieldProblem[] {
  return changes.flatMap((change, i) => {
    const [field, name] =
      change.kind === 'level-added'
        ? ['level', change.level]
        : change.kind === 'level-renamed'
          ? ['to', change.to]
          : [];
    const problem = name === undefined ? undefined : newNameProblem(name);
    return problem === undefined ? [] : [{ field: `changes[${i}].${field}`, why: `the name ${problem}` }];
  });
}
