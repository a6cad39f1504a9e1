/**
 * An assessment in writing: for a terminal, as a paragraph for a protocol or a statistical analysis plan, and for programs (JSON
 * and CSV).
 */
import { counted, plural } from '../../base/wording.ts';
import type { Arrivals, SimulationPlan } from '../simulation/plan.ts';
import type { Figure } from '../simulation/summary.ts';
import { type Assessment, findingsOf, judgedText } from './assessment.ts';
import {
  algorithmText,
  armsText,
  designName,
  factorsText,
  figuresByName,
  figureText,
  MAIN_FIGURES,
  methodText,
  numberText,
  parted,
  replicatesText,
  settingsText,
  shownValue,
  urnText,
} from './words.ts';

/**
 * An assessment for a terminal.
 * @param table makes columns of rows
 */
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

/** What was assessed, and how: the study and its design, the participants, the trials and the software. */
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

/** A row for each main figure that some design has; a column for each design. */
function mainTable({ designs, plan }: Assessment): string[][] {
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

/** The paragraph for a protocol or a statistical analysis plan. */
export function paragraphOf({ plan, designs, own, version, isExact, command }: Assessment): string {
  const { design, participants, reps, seed, study, arrivalsSource } = plan;
  const how = isExact
    ? `computed exactly for ${counted(participants, 'participant')}`
    : `assessed by ${numberText(reps)} simulated ${plural(reps, 'trial')} of ${counted(participants, 'participant')} (seed ${seed})`;
  const sentences = [
    `Participants of ${study} are allocated by ${methodText(design)} (urn ${version}, algorithm ${algorithmText(design)})${methodDetail(plan)}.`,
    `Arms: ${armsText(design)}. Factors: ${factorsText(design)}.${design.own ? '' : ` Settings: ${urnText(design)}.`}`,
    `The design was ${how}; the levels of participants came from ${arrivalsSource}.`,
    outcomeSentence(own, participants, siteName(plan)),
    sentenceOf(
      own,
      ['guess.blind'],
      (blind) => `Under complete randomization the best guess is right in ${blind}, and drift is 1.`,
    ),
    ...designs
      .slice(1)
      .map((one) => `With ${one.name} instead: ${figuresText(figuresByName(one, plan), siteName(plan))}.`),
    ...(isExact ? [] : ['In brackets: 95 % intervals of the Monte Carlo error.']),
    analysisSentence(plan),
    `To reproduce these figures: ${command}`,
  ];
  return sentences.filter((one) => one !== '').join(' ');
}

/** Block sizes have no place in a document that sites read. */
function methodDetail({ design: { own } }: SimulationPlan): string {
  if (!own)
    return ": each level of each factor has an urn; the arm is drawn from the most imbalanced urn of the participant's levels, with ties broken by lot";
  if (own.rule.kind === 'block') return '; the sizes of the blocks are kept apart from this document';
  return own.rule.kind === 'minimization' ? '; its parameters are kept apart from this document' : '';
}

function outcomeSentence(own: ReadonlyMap<string, Figure>, n: number, site: string | undefined): string {
  return `This design, after ${counted(n, 'participant')}: ${figuresText(own, site)}.`;
}

function figuresText(figures: ReadonlyMap<string, Figure>, site: string | undefined): string {
  const parts: (readonly [string, string])[] = [
    ['overall.range.mean', 'mean range of the arms'],
    ['overall.range.p95', 'in 95 % of the trials at most'],
    ['levels.range.mean', 'mean of the largest range within a level'],
    ['levels.range.p95', 'in 95 % at most'],
    ['guess.naive', 'right guesses of the arm with the fewest participants'],
    ...(site === undefined ? [] : [['guess.site', `the same within ${site}`] as const]),
    ['guess.known', 'with all arms and the settings known'],
    ['drift', 'drift'],
  ];
  return parts
    .flatMap(([name, words]) => {
      const figure = figures.get(name);
      return figure ? [`${words} ${figureText(name, figure)}`] : [];
    })
    .join(', ');
}

function siteName({ design, siteFactor }: SimulationPlan): string | undefined {
  return siteFactor === undefined ? undefined : design.factors[siteFactor]?.name;
}

function sentenceOf(
  figures: ReadonlyMap<string, Figure>,
  [name]: readonly [string],
  text: (value: string) => string,
): string {
  const figure = figures.get(name);
  return figure ? text(figureText(name, figure)) : '';
}

/** The outcome and its statistic are the trial's own choice. */
function analysisSentence({ study, design }: SimulationPlan): string {
  const statistic = design.treatments.length > 2 ? 'F' : 'mean';
  return `The arms are compared by a re-randomization test, which repeats these allocations with everything else held fixed: urn rerandomize --study ${JSON.stringify(study)} --outcomes FILE --outcome COLUMN --statistic ${statistic} --reps 9999 --seed 1 [insert the file, the column, and the statistic of the protocol: mean, ranksum, proportion, logrank, F or kruskal].`;
}

export function jsonOf(assessment: Assessment): string {
  const { version, plan, isExact, designs, warnings, judged } = assessment;
  const { study, design, participants, reps, seed, at } = plan;
  return JSON.stringify(
    {
      version,
      study,
      design,
      participants,
      reps: isExact ? null : reps,
      // JSON's numbers are doubles.
      seed: seed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seed) : String(seed),
      exact: isExact,
      at,
      levels: levelsOf(plan),
      designs: designs.map((one) => ({
        name: one.name,
        figures: Object.fromEntries(figuresByName(one, plan)),
      })),
      requirements: judged,
      warnings,
      paragraph: paragraphOf(assessment),
    },
    null,
    2,
  );
}

/** The share of each level, and its source. The shares do not say everything about levels that are drawn together in rows. */
function levelsOf({ design, arrivals, arrivalsSource }: SimulationPlan) {
  const shares = sharesOf(arrivals, design.factors);
  const named = design.factors.map(({ name, levels }, f) => ({
    factor: name,
    levels: levels.map((level, l) => ({ level, share: shares[f]?.[l] ?? 0 })),
  }));
  const rows = arrivals.kind === 'rows' ? { rows: arrivals.rows.length } : {};
  const opens =
    arrivals.kind === 'shares' && arrivals.opens.length > 0
      ? {
          opens: arrivals.opens.map(({ factor, level, from }) => ({
            factor: design.factors[factor]?.name,
            level: design.factors[factor]?.levels[level],
            from,
          })),
        }
      : {};
  return { source: arrivalsSource, shares: named, ...rows, ...opens };
}

/** For each level of each factor. The sum over a factor is 1. */
export function sharesOf(arrivals: Arrivals, factors: SimulationPlan['design']['factors']): number[][] {
  const sums =
    arrivals.kind === 'shares'
      ? arrivals.shares.map((one) => [...one])
      : factors.map(({ levels }) => levels.map(() => 0));
  if (arrivals.kind === 'rows')
    arrivals.rows.forEach((row, i) => {
      row.forEach((level, f) => {
        const ofFactor = sums[f] ?? [];
        ofFactor[level] = (ofFactor[level] ?? 0) + (arrivals.weights[i] ?? 0);
      });
    });
  return sums.map((ofFactor) => {
    const sum = ofFactor.reduce((total, one) => total + one, 0);
    return ofFactor.map((one) => one / sum);
  });
}

export const CSV_HEAD = ['design', 'figure', 'n', 'value', 'low', 'high'] as const;

/** A figure about the whole course is given with the total number of participants. */
export function csvRowsOf({ designs, plan }: Assessment): string[][] {
  return designs.flatMap((design) =>
    Object.entries(design.figures).map(([full, { value, low, high }]) => {
      const { name, n = plan.participants } = parted(full);
      return [design.name, name, String(n), String(value), String(low), String(high)];
    }),
  );
}
