/** An assessment as one HTML file without scripts or external resources, for the screen and for paper. */
import type { Size } from '../../base/charts/frame.tsx';
import { escapeHtml as e, htmlTable, STYLE } from '../../base/html/page.ts';
import { svgOf } from '../../base/html/svg.ts';
import { printable } from '../../base/text.ts';
import { counted, plural } from '../../base/wording.ts';
import type { DesignResult, Figure } from '../simulation/summary.ts';
import { type Assessment, findingsOf, judgedText } from './assessment.ts';
import { CourseChart, columnAt, columnsFor, columnsOf, DistributionChart, TradeOffChart } from './charts.tsx';
import { paragraphOf, settingsOf, sharesOf } from './text.ts';
import { designName, figuresByName, MAIN_FIGURES, numberText, parted, shownValue } from './words.ts';

/** The dark colours are those of the service's pages. */
const PAGE_STYLE = `${STYLE}
body { max-width: 1000px; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 300px), 1fr)); gap: 0 6mm; }
figcaption { font-weight: bold; overflow-wrap: anywhere; }
.scatter { max-width: 640px; }
/* Narrow screens get a smaller chart, with labels of the same size. */
.narrow { display: none; }
@media screen and (max-width: 600px) { .narrow { display: block; } .broad { display: none; } }
ul { margin: 0 0 2mm; padding-left: 5mm; }
.wide { overflow-x: auto; }
.wide th, .wide td { overflow-wrap: normal; white-space: nowrap; }
.wide th:not(:first-child), .wide td:not(:first-child) { text-align: right; }
.wide small { color: var(--soft); display: block; }
.copy { border: 0.3mm solid var(--edge); padding: 2.5mm 4mm; margin: 2mm 0 4mm; overflow-wrap: anywhere; }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --page: #10151b; --text: #e8edf2; --soft: #9fadbb; --line: #2c3743; --edge: #74818f;
    --head: #6bb8e8; --accent: #6bb8e8; --danger: #ff8f87; }
}
@media print { .wide { overflow: visible; } .wide th, .wide td { white-space: normal; } body { max-width: none; } }
`;

export function pageOf(assessment: Assessment): string {
  const { plan, warnings } = assessment;
  const title = `${plan.study}: assessment of the design`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${e(title)}</title>
<style>${PAGE_STYLE}</style></head><body><main>
<h1>${e(title)}</h1>
<p class="lead">${e(basis(assessment))}</p>
${warnings.map((warning) => `<p class="warning"><strong>Warning:</strong> ${e(warning)}.</p>`).join('\n')}
<h2>What was found</h2>
${findings(assessment)}
${requirements(assessment)}
${pictures(assessment)}
<h2>Figures</h2>
${mainFigures(assessment)}
${overTheCourse(assessment)}
<h2>Settings</h2>
${settings(assessment)}
<h2>For the protocol or the statistical analysis plan</h2>
<p class="copy">${e(paragraphOf(assessment))}</p>
<p>The same again, byte by byte with the same version:</p>
<p class="copy"><code>${e(assessment.command)}</code></p>
<h2>All figures</h2>
<p class="lead">Their definitions are in docs/statistics.md.</p>
${allFigures(assessment)}
</main></body></html>
`;
}

function basis({ plan, isExact }: Assessment): string {
  const trials = isExact
    ? `Computed exactly for ${numberText(plan.participants)} ${plural(plan.participants, 'participant')}`
    : `${numberText(plan.reps)} simulated ${plural(plan.reps, 'trial')} of ${numberText(plan.participants)} ${plural(plan.participants, 'participant')}`;
  return `${trials}, with levels from ${plan.arrivalsSource}. They use no participant of the study, and not its seed.`;
}

function findings(assessment: Assessment): string {
  const texts = findingsOf(assessment).map(
    ({ about, sentences }) =>
      `<h3>${e(about)}</h3>\n<ul>${sentences.map((one) => `<li>${e(one)}</li>`).join('')}</ul>`,
  );
  const interval = assessment.isExact
    ? ''
    : ' Brackets contain the 95 % interval of the Monte Carlo error. Differences within it are not reported as differences.';
  return `${texts.join('\n')}
<p class="lead">These findings are for this design and these participants; a different number of participants or different shares of the levels can change them.${interval}</p>`;
}

function requirements({ judged }: Assessment): string {
  if (judged.length === 0) return '';
  return `<h2>Requirements</h2>
<ul>${judged.map((one) => `<li>${e(judgedText(one))}</li>`).join('')}</ul>`;
}

const SMALL = { width: 340, height: 190 } as const;

function pictures(assessment: Assessment): string {
  const { designs, plan } = assessment;
  const n = plan.participants;
  return `<h2>Imbalance of the arms after ${counted(n, 'participant')}</h2>
<p class="lead">Across: the range, which is the difference between the largest and the smallest arm. Up: the share of the trials with that range, on a separate scale for each design. 95 % of the trials are at or to the left of the dashed line.</p>
<div class="grid">${distributions(designs, n).join('\n')}</div>
<h2>Guessing against imbalance</h2>
<p class="lead">Designs further to the left keep the arms closer together; those further down are harder to guess.</p>
<figure class="scatter broad">${scatter(assessment, { width: 560, height: 360 })}</figure>
<figure class="scatter narrow">${scatter(assessment, { width: 350, height: 330 })}</figure>
<h2>Imbalance while the trial grows</h2>
<p class="lead">Across: participants. Up: the range of the arms; the line is its median, the dark band contains half of the trials, the light one nine tenths.</p>
<div class="grid">${courses(designs).join('\n')}</div>`;
}

function captioned(name: string, svg: string): string {
  return `<figure><figcaption>${e(designName(name))}</figcaption>${svg}</figure>`;
}

function distributions(designs: readonly DesignResult[], n: number): string[] {
  const all = columnsFor(designs.flatMap(({ distribution }) => distribution.map(({ range }) => range)));
  const columns = designs.map(({ distribution }) => columnsOf(distribution, all));
  const widest = Math.max(...columns.flat().map(({ to }) => to), 1);
  return designs.map(({ name, figures }, i) => {
    const { value = 0 } = figures[`overall.range@${n}.p95`] ?? {};
    const shown = shownValue('.p95', value);
    return captioned(
      name,
      svgOf(
        <DistributionChart
          {...SMALL}
          columns={columns[i] ?? []}
          most={{ value: widest, share: Math.max(...(columns[i] ?? []).map(({ share }) => share), 1) }}
          mark={{ value: columnAt(value, all).to, label: `95 %: ${shown}` }}
          alternative={printable(
            `${designName(name)}: in 95 % of the trials the range of the arms is at most ${shown}`,
          )}
        />,
      ),
    );
  });
}

function courses(designs: readonly DesignResult[]): string[] {
  const most = Math.max(...designs.flatMap(({ course }) => course.map(({ p95 }) => p95)), 1);
  return designs.map(({ name, course }) => {
    const last = course.at(-1);
    const p50 = shownValue('.p50', last?.p50 ?? 0);
    const p95 = shownValue('.p95', last?.p95 ?? 0);
    const alternative = `${designName(name)}: after ${counted(last?.n ?? 0, 'participant')} the median of the range is ${p50}, and in 95 % of the trials it is at most ${p95}`;
    return captioned(
      name,
      svgOf(
        <CourseChart
          {...SMALL}
          points={course}
          most={most}
          endLabels={{ p50, p95 }}
          alternative={printable(alternative)}
        />,
      ),
    );
  });
}

function scatter({ designs, own, plan }: Assessment, size: Size): string {
  const n = plan.participants;
  const points = designs.flatMap(({ name, figures }) => {
    const [imbalance, guesses] = [figures[`overall.range@${n}.mean`], figures['guess.known']];
    return imbalance && guesses
      ? [
          {
            name: printable(designName(name)),
            imbalance: imbalance.value,
            guesses: 100 * guesses.value,
            isOwn: name === 'study',
          },
        ]
      : [];
  });
  const values = points.map(
    ({ name, imbalance, guesses }) => `${name}: ${imbalance.toFixed(1)}, ${guesses.toFixed(1)} %`,
  );
  return svgOf(
    <TradeOffChart
      {...size}
      points={points}
      blind={100 * (own.get('guess.blind')?.value ?? 0)}
      xTitle="mean range of the arms →"
      yTitle="right guesses, all arms and settings known"
      blindLabel="a blind guess"
      alternative={`mean range of the arms and right guesses of each design: ${values.join('; ')}`}
    />,
  );
}

/** A cell: the value, and its interval below. */
function cell(name: string, figure: Figure | undefined): string {
  if (!figure) return '';
  const { value, low, high } = figure;
  const bound = (one: number) => e(shownValue(name, one).replace(' %', ''));
  const interval = low === high ? '' : `<small>[${bound(low)}, ${bound(high)}]</small>`;
  return `${e(shownValue(name, value))}${interval}`;
}

/** It can be scrolled, also by keyboard. */
function wideTable(
  about: string,
  designs: readonly DesignResult[],
  rows: readonly (readonly string[])[],
): string {
  const head = ['Figure', ...designs.map(({ name }) => e(designName(name)))];
  return `<div class="wide" role="region" aria-label="${about}" tabindex="0">${htmlTable(head, rows)}</div>`;
}

function mainFigures({ designs, plan }: Assessment): string {
  const columns = designs.map((design) => figuresByName(design, plan));
  const rows = MAIN_FIGURES.flatMap(({ name, words }) => {
    const figures = columns.map((one) => one.get(name));
    if (figures.every((figure) => figure === undefined)) return [];
    const label = e(words.replace('{n}', String(plan.participants))).replace(/^ +/, '&emsp;');
    return [[label, ...figures.map((figure) => cell(name, figure))]];
  });
  return wideTable('Main figures', designs, rows);
}

function overTheCourse({ designs, plan }: Assessment): string {
  if (plan.at.length < 2) return '';
  const rows = plan.at.flatMap((n) =>
    (['mean', 'p95'] as const).map((what) => [
      what === 'mean' ? `after ${n}: mean range of the arms` : '&emsp;95 % of trials at most',
      ...designs.map(({ figures }) => cell(`.${what}`, figures[`overall.range@${n}.${what}`])),
    ]),
  );
  return `<h3>Along the way</h3>
${wideTable('Figures along the way', designs, rows)}`;
}

function settings(assessment: Assessment): string {
  const { arrivals, design } = assessment.plan;
  const shares = sharesOf(arrivals, design.factors);
  const levels = design.factors.map(({ name, levels: names }, f) => {
    const shown = names.map((level, l) => `${level}: ${(100 * (shares[f]?.[l] ?? 0)).toFixed(1)} %`);
    return [`Levels of ${e(name)}`, e(shown.join(' · '))];
  });
  const opens =
    arrivals.kind === 'shares'
      ? arrivals.opens.map(({ factor, level, from }) => [
          'Opens later',
          e(
            `${design.factors[factor]?.name}, ${design.factors[factor]?.levels[level]}: with participant ${from}`,
          ),
        ])
      : [];
  const rows = settingsOf(assessment).map(({ name, value }) => [
    e(name.replace(/^./, (first) => first.toUpperCase())),
    e(value),
  ]);
  return htmlTable([], [...rows, ...levels, ...opens], 'facts');
}

function allFigures({ designs }: Assessment): string {
  const names = [...new Set(designs.flatMap(({ figures }) => Object.keys(figures)))];
  const rows = names.map((full) => [
    `<code>${e(full)}</code>`,
    ...designs.map(({ figures }) => cell(parted(full).name, figures[full])),
  ]);
  return wideTable('All figures', designs, rows);
}
