/** The visits of a study in the studies file, at which participants get packs: `[V2, V3, Week 12]`. */
import { MAX_VISITS, Visit } from '../../../events/study.ts';
import { counted } from '../../base/counted.ts';
import { visitProblems } from '../model/visits.ts';
import type { Refuse } from './finding.ts';
import type { Entry } from './yaml-tree.ts';

const FORM = 'write 1 to 20 of A–Z a–z 0–9 . _ - and blanks, beginning with a letter or a digit';

/** In their order; undefined if some are refused. Messages never name one, because it may be the name of an arm. */
export function readVisits(
  entry: Entry | undefined,
  treatments: readonly string[],
  refuse: Refuse,
): string[] | undefined {
  if (!entry) return undefined;
  const { value } = entry;
  if (value.kind !== 'list') {
    refuse(entry.line, 'the visits are not a list', 'write them as [V2, V3]');
    return undefined;
  }
  const { items } = value;
  const wrongNumber = items.length === 0 || items.length > MAX_VISITS;
  if (items.length === 0) refuse(entry.line, 'it has no visit', 'leave visits out');
  else if (wrongNumber)
    refuse(entry.line, `it has ${counted(items.length, 'visit')}`, `list at most ${MAX_VISITS}`);
  const texts = items.map((item) => (item.kind === 'text' ? item.text : ''));
  const isForm = texts.map((text) => Visit.safeParse(text).success);
  for (const [i, { line }] of items.entries())
    if (!isForm[i]) refuse(line, `visit ${i + 1} has not the form of a visit`, FORM);
  const problems = visitProblems(texts, treatments).filter(({ index }) => isForm[index]);
  for (const { index, why } of problems)
    refuse(items[index]?.line ?? entry.line, `visit ${index + 1} ${why}`, 'give it another name');
  return wrongNumber || isForm.includes(false) || problems.length > 0 ? undefined : texts;
}
