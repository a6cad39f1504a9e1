/** The paragraph for a protocol or a statistical analysis plan. */
import { counted, plural } from '../../base/wording.ts';
import type { SimulationPlan } from '../simulation/plan.ts';
import type { Figure } from '../simulation/result.ts';
import type { Assessment } from './assessment.ts';
import { algorithmText, armsText, factorsText, methodText, numberText, urnText } from './describe.ts';
import { figuresByName } from './names.ts';
import { figureText } from './shown.ts';

export function paragraphOf({ plan, designs, own, version, isExact, command }: Assessment): string {
  const { design, participants, reps, seed, study, arrivalsSource } = plan;
  const how = isExact
    ? `computed exactly for ${counted(participants, 'participant')}`
    : `assessed by ${numberText(reps)} simulated ${plural(reps, 'trial')} of ${counted(participants, 'participant')} (seed ${seed})`;
  const sentences = [
    `Participants of ${study} are allocated by ${methodText(design)} (urn ${version}, algorithm ${algorithmText(design)})${detail(plan)}.`,
    `Arms: ${armsText(design)}. Factors: ${factorsText(design)}.${design.own ? '' : ` Settings: ${urnText(design)}.`}`,
    `The design was ${how}; the levels of participants came from ${arrivalsSource}.`,
    outcomes(own, participants, siteName(plan)),
    sentenceOf(
      own,
      ['guess.blind'],
      (blind) => `Under complete randomization the best guess is right in ${blind}, and drift is 1.`,
    ),
    ...designs
      .slice(1)
      .map((one) => `With ${one.name} instead: ${figuresText(figuresByName(one, plan), siteName(plan))}.`),
    ...(isExact ? [] : ['In brackets: 95 % intervals of the Monte Carlo error.']),
    analysis(plan),
    `To reproduce these figures: ${command}`,
  ];
  return sentences.filter((one) => one !== '').join(' ');
}

/** Block sizes have no place in a document that sites read. */
function detail({ design: { own } }: SimulationPlan): string {
  if (!own)
    return ": each level of each factor has an urn; the arm is drawn from the most imbalanced urn of the participant's levels, with ties broken by lot";
  if (own.rule.kind === 'block') return '; the sizes of the blocks are kept apart from this document';
  return own.rule.kind === 'minimization' ? '; its parameters are kept apart from this document' : '';
}

function siteName({ design, siteFactor }: Assessment['plan']): string | undefined {
  return siteFactor === undefined ? undefined : design.factors[siteFactor]?.name;
}

function outcomes(own: ReadonlyMap<string, Figure>, n: number, site: string | undefined): string {
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

function sentenceOf(
  figures: ReadonlyMap<string, Figure>,
  [name]: readonly [string],
  text: (value: string) => string,
): string {
  const figure = figures.get(name);
  return figure ? text(figureText(name, figure)) : '';
}

/** The outcome and its statistic are the trial's own choice. */
function analysis({ study, design }: Assessment['plan']): string {
  const statistic = design.treatments.length > 2 ? 'F' : 'mean';
  return `The arms are compared by a re-randomization test, which repeats these allocations with everything else held fixed: urn rerandomize --study ${JSON.stringify(study)} --outcomes FILE --outcome COLUMN --statistic ${statistic} --reps 9999 --seed 1 [insert the file, the column, and the statistic of the protocol: mean, ranksum, proportion, logrank, F or kruskal].`;
}
