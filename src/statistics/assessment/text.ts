/** An assessment for a terminal. */
import type { Assessment } from './assessment.ts';
import {
  algorithmText,
  armsText,
  designName,
  factorsText,
  numberText,
  replicatesText,
  settingsText,
} from './describe.ts';
import { findingsOf } from './findings.ts';
import { figuresByName } from './names.ts';
import { judgedText } from './requirement.ts';
import { figureText, MAIN_FIGURES, shownValue } from './shown.ts';

/** @param table makes columns of rows */
export function textOf(
  assessment: Assessment,
  table: (rows: readonly (readonly string[])[]) => string,
): string {
  const parts = [
    table(settingsOf(assessment).map(({ name, value }) => [name, value])),
    table(mainTable(assessment)),
    ...(assessment.plan.at.length > 1 ? [table(courseTable(assessment))] : []),
    ...(assessment.isExact
      ? []
      : [
          'In brackets: the 95 % interval of the Monte Carlo error. Every figure is defined in docs/statistics.md.',
        ]),
    findingsOf(assessment)
      .map(({ about, sentences }) => [about, ...sentences.map((one) => `  ${one}`)].join('\n'))
      .join('\n'),
    ...(assessment.judged.length > 0 ? [assessment.judged.map(judgedText).join('\n')] : []),
  ];
  return parts.join('\n\n');
}

export function settingsOf(assessment: Assessment): { readonly name: string; readonly value: string }[] {
  const { plan, version } = assessment;
  const { design, siteFactor } = plan;
  return [
    { name: 'study', value: plan.study },
    { name: 'arms', value: armsText(design) },
    { name: 'factors', value: factorsText(design) },
    { name: design.own ? 'method' : 'urn', value: settingsText(design) },
    { name: 'participants', value: `${numberText(plan.participants)}, levels from ${plan.arrivalsSource}` },
    ...(siteFactor === undefined ? [] : [{ name: 'site', value: design.factors[siteFactor]?.name ?? '' }]),
    { name: 'trials', value: replicatesText(assessment) },
    { name: 'software', value: `urn ${version}, algorithm ${algorithmText(design)}` },
  ];
}

/** A row for each figure that some design has, at each n; a column for each design. */
export function mainTable({ designs, plan }: Assessment): string[][] {
  const columns = designs.map((design) => figuresByName(design, plan));
  const rows = MAIN_FIGURES.flatMap(({ name, words }) => {
    // Only those after all participants have a name without the number.
    const figures = columns.map((figures) => figures.get(name));
    if (figures.every((figure) => figure === undefined)) return [];
    const cells = figures.map((figure) => (figure ? figureText(name, figure) : ''));
    return [[words.replace('{n}', String(plan.participants)), ...cells]];
  });
  return [['', ...designs.map(({ name }) => designName(name))], ...rows];
}

/** The range of the arms after each number of participants that was asked for. */
function courseTable({ designs, plan }: Assessment): string[][] {
  const rows = plan.at.map((n) => [
    `after ${n}: mean range of the arms, 95 % at most`,
    ...designs.map(({ figures }) => {
      const [mean, p95] = [figures[`overall.range@${n}.mean`], figures[`overall.range@${n}.p95`]];
      return mean && p95 ? `${figureText('.mean', mean)}, ${shownValue('.p95', p95.value)}` : '';
    }),
  ]);
  return [['', ...designs.map(({ name }) => designName(name))], ...rows];
}
