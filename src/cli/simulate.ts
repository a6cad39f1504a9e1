/** urn simulate: what a study's design does, and what others would, before the first participant. */
import type { Command } from 'commander';
import { csvLine } from '../evidence/export/columns.ts';
import { type Assessment, assessmentOf } from '../statistics/assessment/assessment.ts';
import { CSV_HEAD, csvRowsOf, jsonOf } from '../statistics/assessment/json.ts';
import { judgedText } from '../statistics/assessment/requirement.ts';
import { textOf } from '../statistics/assessment/text.ts';
import { exactly, exactProblem } from '../statistics/simulation/exact/exactly.ts';
import type { SimulationPlan } from '../statistics/simulation/plan.ts';
import type { DesignResult } from '../statistics/simulation/result.ts';
import { simulate } from '../statistics/simulation/simulate.ts';
import { refuseUnfit, writeNew } from './new-files.ts';
import { jsonOption, logCommand, option, repeatedOption, UsageError } from './options.ts';
import { note, progressOf, result, table } from './output.ts';
import { commandLine } from './simulate-command-line.ts';
import { DEFAULTS, judgedBy, planFrom, requirementsOf, type SimulateOptions } from './simulate-plan.ts';
import { DEFAULT_STUDIES_FILE } from './studies-file.ts';
import { VERSION } from './version.ts';

const HELP = `
Runs the service's own allocation many times on simulated participants, from the first one on, and reports how far apart the arms
get, overall and within levels, and how often a guess is right. It reads only the studies file, opens no log (except for
--like), and does not use the seed of a study. Every figure is defined in docs/statistics.md.

How participants arrive: with equal shares for the levels of each factor, or
  --levels    YAML: local_site: {Cook: 120, Kane: 30}, and opens: {local_site: {Kane: 100}} for a site that opens with the
              100th participant
  --profiles  CSV: a column for each factor, and weight; whole rows are drawn, so levels may be correlated
  --like      the participants of a study in the log, only their levels

Designs to compare with, each on the same participants; @ and factors after a design apply it within their levels:
  --against complete                 --against urn:w=5,D=range         --against minimization:0.8
  --against block:4@local_site       --against block:4+6@sex,site      --against efron:0.667    --against bigstick:4

Exit code 1: a requirement is not met. No file is overwritten.

Examples:
  urn simulate --study "CHS JCOIN" --against complete --against block:3+6@local_site --html design.html
  urn simulate --study "CHS JCOIN" --at 50,100,300 --require 'overall.range.p95 <= 20'`;

export function simulateCommand(): Command {
  return logCommand('simulate')
    .description(
      "simulate a study's design before it begins: balance, guessing, drift, compared with other designs",
    )
    .addOption(option('--studies <file>', `the studies file (default: ${DEFAULT_STUDIES_FILE})`))
    .addOption(
      option('--study <name>', 'name of the study in the file (may be left out if it is the only one)'),
    )
    .addOption(
      option('--participants <number>', "participants of a trial (default: the study's target_enrollment)"),
    )
    .addOption(option('--reps <number>', 'trials to simulate').default(DEFAULTS.reps))
    .addOption(option('--seed <number>', 'seed of the simulation, from 1 to 2^63 - 1').default(DEFAULTS.seed))
    .addOption(
      option('--threads <number>', 'threads to use; they do not affect the results (default: one per core)'),
    )
    .addOption(option('--levels <file>', 'shares of the levels (YAML)'))
    .addOption(option('--profiles <file>', 'profiles of participants with their weights (CSV)'))
    .addOption(option('--like <study>', 'draw from the participants of this study in the log'))
    .addOption(option('--independent', 'take only the shares of levels from --profiles or --like'))
    .addOption(repeatedOption('--against <design>', 'compare with this design (repeatable)'))
    .addOption(
      option(
        '--site-factor <name>',
        'the factor whose levels are sites, for guesses from the counts of one site',
      ),
    )
    .addOption(
      option(
        '--at <numbers>',
        'report imbalance after these numbers of participants, such as 20,50,100 (default: at the end)',
      ),
    )
    .addOption(
      repeatedOption(
        '--require <requirement>',
        "'NAME OP NUMBER': judge the design by a figure (repeatable)",
      ),
    )
    .addOption(option('--exact', 'compute instead of simulating (for one factor with one level)'))
    .addOption(option('--csv <file>', 'write all figures as CSV'))
    .addOption(
      option(
        '--html <file>',
        'write a page with pictures, and a paragraph for the protocol (without --against: compared with complete, blocks of the --site-factor and minimization:0.8)',
      ),
    )
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run(options: SimulateOptions): Promise<void> {
  refuseUnfit([options.csv, options.html].filter((file) => file !== undefined));
  const { plan, threads } = await planFrom(options);
  const requirements = requirementsOf(options, plan);
  const designs = await designsOf(plan, options, threads);
  const parts = { version: VERSION, plan, isExact: options.exact ?? false, designs };
  const command = commandLine(options, plan);
  const assessment = assessmentOf({ ...parts, judged: judgedBy(requirements, plan, designs), command });
  await write(assessment, options);
  if (assessment.judged.some(({ met }) => !met)) process.exitCode = 1;
}

async function designsOf(
  plan: SimulationPlan,
  { exact }: SimulateOptions,
  threads: number | undefined,
): Promise<readonly DesignResult[]> {
  if (exact) {
    const problem = exactProblem(plan);
    if (problem !== undefined) throw new UsageError(`--exact: ${problem}`);
    return exactly(plan);
  }
  const shown = progressOf('trials', plan.reps);
  try {
    return await simulate(plan, { threads, onProgress: shown.show });
  } finally {
    shown.end();
  }
}

async function write(assessment: Assessment, { csv, html, json }: SimulateOptions): Promise<void> {
  for (const warning of assessment.warnings) note(`warning: ${warning}`);
  if (csv !== undefined)
    writeNew(csv, [CSV_HEAD, ...csvRowsOf(assessment)].map((row) => csvLine(row)).join(''));
  if (html !== undefined) {
    // The charts are large, and only this page needs them.
    const { pageOf } = await import('../statistics/assessment/page.tsx');
    writeNew(html, pageOf(assessment));
  }
  if (!json) result(textOf(assessment, table));
  else {
    result(jsonOf(assessment));
    for (const one of assessment.judged) note(judgedText(one));
  }
}
