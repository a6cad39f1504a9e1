/**
 * Lists of allocations that were made elsewhere, which a study with the method `list` follows: registers their entries,
 * passes over those that are used already, and folds both into the model. The deciders are pure, as `decide` is.
 */
import type { StudyFact } from '../../../events/catalogue.ts';
import { canonicalJson, type PartialEventOf } from '../../../events/record.ts';
import { counted } from '../../base/wording.ts';
import { stateProblem } from '../acts/acts.ts';
import { openTreatments } from '../model/design.ts';
import { approvalProblems } from '../model/members.ts';
import type { Model } from '../model/model.ts';
import { firstOf, impossible, type StudyOutcome, stale } from '../model/outcomes.ts';
import { MAX_ENTRIES, MAX_ENTRY_BYTES } from '../model/packs.ts';
import type { Decision } from '../write/decider.ts';
import type { RegisterList, SkipEntries } from './commands.ts';

type FactOf<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>;
type DecisionOf<T extends StudyFact['type']> = Decision<FactOf<T>, StudyOutcome>;

export function registerList(
  state: Model,
  { approvals, entries, file, first, list }: RegisterList,
  at: string,
): DecisionOf<'ListRegistered'> {
  const fact: FactOf<'ListRegistered'> = {
    type: 'ListRegistered',
    data: { approvals: [...approvals], count: entries.length, list },
    sections: { list: { entries: entries.map(withLevels), file, first } },
  };
  const problem =
    stateProblem(state, fact.type) ??
    registrationProblem(state, fact.data, at) ??
    contentsProblem(state, fact.sections.list);
  return problem ? { outcome: problem } : { fact, outcome: { type: 'list-registered' } };
}

/** A copy, without levels if there are none. */
function withLevels<T extends { readonly levels?: readonly string[] | undefined }>({ levels, ...rest }: T) {
  return { ...(levels && { levels: [...levels] }), ...rest };
}

/** Why the list is not possible, as far as the clear part shows. */
export function registrationProblem(
  { design, entries, methodDesign }: Model,
  { approvals, count, list }: FactOf<'ListRegistered'>['data'],
  at: string,
): StudyOutcome | undefined {
  if (methodDesign.method !== 'list') return NO_LIST;
  if (list !== entries.lists + 1) return stale(`the next list is number ${entries.lists + 1}`, 'list');
  if (count > MAX_ENTRIES) return impossible('count', `a list has at most ${MAX_ENTRIES} entries`);
  return firstOf(
    approvalProblems(
      approvals,
      at,
      design.mode,
      'a list can be registered in a live study only with an approval',
    ),
  );
}

const NO_LIST = impossible('type', 'the study follows no list');

function contentsProblem(
  model: Model,
  { entries, file, first }: FactOf<'ListRegistered'>['sections']['list'],
): StudyOutcome | undefined {
  if (Buffer.byteLength(canonicalJson(entries)) > MAX_ENTRY_BYTES)
    return impossible('entries', `a list takes at most ${MAX_ENTRY_BYTES} bytes`);
  const rows = model.entries.rowsOf(file);
  if (first !== rows + 1) return stale(`${counted(rows, 'row')} of the file are in`, 'first');
  const open = openTreatments(model.design);
  for (const [i, { levels, treatment }] of entries.entries()) {
    if (!open.includes(treatment)) return impossible(`entries[${i}].treatment`, 'it is no open arm');
    if (stratumNamed(model, levels) === undefined)
      return impossible(`entries[${i}].levels`, 'the study has no such stratum');
  }
  return undefined;
}

/** The name of the stratum with these levels, in the order of its factors; undefined if the study has no such stratum. */
export function stratumNamed(
  { levelIndexes, methodDesign }: Pick<Model, 'levelIndexes' | 'methodDesign'>,
  levels: readonly string[] = [],
): string | undefined {
  if (methodDesign.method !== 'list' || levels.length !== methodDesign.by.length) return undefined;
  const indexes = methodDesign.by.map((factor, i) => levelIndexes[factor]?.get(levels[i] ?? ''));
  return indexes.includes(undefined) ? undefined : indexes.join();
}

export function skipEntries(state: Model, { reason, skipped }: SkipEntries): DecisionOf<'EntriesSkipped'> {
  const type = 'EntriesSkipped';
  const data = { reason, skipped: skipped.map(withLevels) };
  const problem = stateProblem(state, type) ?? skipProblem(state, data);
  return problem
    ? { outcome: problem }
    : { fact: { type, data, sections: {} }, outcome: { type: 'entries-skipped' } };
}

/** Why entries cannot be passed over. How many are left shows only where they are not withheld. */
export function skipProblem(
  model: Model,
  { skipped }: FactOf<'EntriesSkipped'>['data'],
): StudyOutcome | undefined {
  const { entries, methodDesign } = model;
  if (methodDesign.method !== 'list') return NO_LIST;
  if (!entries.isSkipOwed)
    return stale('no entries are to be skipped: nothing was recovered or imported since the last skip');
  const seen = new Set<string>();
  for (const [i, { count, levels }] of skipped.entries()) {
    const stratum = stratumNamed(model, levels);
    if (stratum === undefined) return impossible(`skipped[${i}].levels`, 'the study has no such stratum');
    if (seen.has(stratum)) return impossible(`skipped[${i}].levels`, 'the stratum is there twice');
    const left = entries.left(stratum) ?? count;
    if (count > left)
      return impossible(`skipped[${i}].count`, `the stratum has ${counted(left, 'entry', 'entries')} left`);
    seen.add(stratum);
  }
  const all = skipped.reduce((sum, { count }) => sum + count, 0);
  const left = entries.leftInAll;
  return all > left
    ? impossible('skipped', `the lists have ${counted(left, 'entry', 'entries')} left in all`)
    : undefined;
}

/** Folds a list into the model. */
export function addEntries(model: Model, { data, sections }: PartialEventOf<'ListRegistered'>): void {
  const { list } = sections;
  if (!list) {
    model.entries.addWithheld(data.count);
    return;
  }
  const { slots } = model.design;
  model.entries.add(
    list.file,
    list.entries.map(({ levels, treatment }) => [
      stratumNamed(model, levels) ?? '',
      slots.indexOf(treatment),
    ]),
  );
}

/** Folds entries that are passed over into the model: they count as used. */
export function useSkippedEntries(model: Model, { data }: PartialEventOf<'EntriesSkipped'>): void {
  model.entries.isSkipOwed = false;
  for (const { count, levels } of data.skipped) model.entries.use(stratumNamed(model, levels) ?? '', count);
}
