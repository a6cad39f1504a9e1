/** The amendment that makes a design what the studies file says. */

import { canonicalJson } from '../../../events/record.ts';
import type { DesignChange, Limits } from '../../../events/study.ts';
import {
  activeFactors,
  changedDesign,
  type Design,
  type Factor,
  openTreatments,
  ratioOf,
} from '../model/design.ts';
import { slotsOf } from '../study/force.ts';
import { POLICY_NAMES, type RegisteredStudy, requestedDesign, type StudyInFile } from './differences.ts';
import { resultingLimits } from './stated-limits.ts';

export type LevelRenamed = Extract<DesignChange, { kind: 'level-renamed' }>;

/**
 * In the order in which they must be applied. Differences that no change can make are left out, so the file still differs
 * from the resulting design.
 * @param renamings what the file cannot say, because a renamed level looks like one level closed and another added
 */
export function changesTo(
  file: StudyInFile,
  registered: RegisteredStudy,
  design: Design,
  renamings: readonly LevelRenamed[],
): DesignChange[] {
  const requested = requestedDesign(registered, file);
  const renamed = renamings.reduce(changedDesign, design);
  const urns = [
    ...activeFactors(renamed).flatMap((factor) => levelChanges(factor, requested.factors)),
    ...retirements(renamed, requested),
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
    ...closedArms(renamed, requested),
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

function retirements(design: Design, requested: Design): DesignChange[] {
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

function closedArms(design: Design, requested: Design): DesignChange[] {
  return openTreatments(design)
    .filter((treatment) => !requested.treatments.includes(treatment))
    .map((treatment) => ({ kind: 'arm-closed', treatment }));
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
