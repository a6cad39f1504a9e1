/** urn studies: check the file; list, show, pause and resume what is registered. */
import type { Command } from 'commander';
import { balance } from '../../projections/balance.ts';
import { participants } from '../../projections/participants.ts';
import { logExists, type OpenLog, openLog } from '../app.ts';
import { configurationDifferences, describeDifferences } from '../configuration/differences.ts';
import { formatFinding } from '../configuration/finding.ts';
import type { Study } from '../study/studies.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  logSettings,
  option,
  UsageError,
  unknownStudy,
} from './options.ts';
import { note, progress, result, table } from './output.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';

type Options = LogOptions & { json?: boolean };

export function studiesCommand(): Command[] {
  return [
    logCommand('check')
      .description('check the studies file, and compare it with what is registered in the log')
      .addOption(option('--studies <file>', `the studies file (default: ${DEFAULT_STUDIES_FILE})`))
      .addOption(jsonOption())
      .action(check),
    logCommand('list').description('the studies in the log').addOption(jsonOption()).action(list),
    logCommand('show')
      .argument('<name>', 'name of a study')
      .description(
        'configuration, state and balance of a study; the balance tells arms in sum, so it is not for blinded eyes',
      )
      .addOption(jsonOption())
      .action(show),
    stateCommand('pause', 'take no new participants, in every process that serves this log, within a second'),
    stateCommand('resume', 'take participants again'),
  ];
}

function stateCommand(verb: 'pause' | 'resume', description: string): Command {
  return logCommand(verb)
    .argument('<name>', 'name of a study')
    .description(description)
    .addOption(option('--reason <text>', 'recorded with the event').makeOptionMandatory())
    .action((name: string, options: LogOptions & { reason: string }) => setState(verb, name, options));
}

async function check(options: Options & { studies?: string }): Promise<void> {
  const { studies: configured, warnings } = readStudiesFile(options.studies ?? DEFAULT_STUDIES_FILE);
  for (const warning of warnings) note(`warning: ${formatFinding(warning)}`);
  const outcomes: { study: string; outcome: 'new' | 'as registered' | 'differs'; differences: string[] }[] =
    [];
  await withStudies(options, async (log) => {
    for (const { configuration, seed } of configured) {
      const study = log?.studies.find(configuration.name);
      const differences = study ? configurationDifferences(study.registered, { configuration, seed }) : [];
      outcomes.push({
        study: configuration.name,
        outcome: !study ? 'new' : differences.length > 0 ? 'differs' : 'as registered',
        differences: describeDifferences(differences, { secrets: 'show' }),
      });
    }
  });
  if (options.json) result(JSON.stringify({ studies: outcomes, warnings }, null, 2));
  else
    for (const { study, outcome, differences } of outcomes)
      result([`${study}: ${outcome}`, ...differences.map((line) => `  ${line}`)].join('\n'));
  if (outcomes.some(({ outcome }) => outcome === 'differs')) process.exitCode = 1;
}

async function list(options: Options): Promise<void> {
  await withStudies(options, async (log) => {
    const rows = log ? log.studies.list().map((study) => summary(log, study)) : [];
    if (options.json) result(JSON.stringify(rows, null, 2));
    else if (rows.length === 0)
      note('no study is registered (hint: urn serve --studies FILE registers those of the file)');
    else
      result(
        table(
          rows.map(({ name, mode, state, participants: count, target }) => [
            name,
            mode,
            state,
            enrolled(count, target),
          ]),
        ),
      );
  });
}

async function show(name: string, options: Options): Promise<void> {
  await withStudies(options, async (log) => {
    const study = log?.studies.find(name);
    if (!log || !study) throw unknownStudy(name);
    const { configuration, registeredAt, seedSource, seedWeak, paused, studyId } = study.registered;
    const counts = log.runner.state(balance, study.stream);
    if (!counts) throw unknownStudy(name);
    const overview = summary(log, study);
    if (options.json) {
      result(
        JSON.stringify(
          {
            ...overview,
            studyId,
            registeredAt,
            seedSource,
            seedWeak,
            paused,
            configuration,
            balance: counts,
          },
          null,
          2,
        ),
      );
      return;
    }
    const { D, w, alpha, beta, urnSelection, idPattern } = configuration;
    const seed =
      seedSource === 'drawn'
        ? 'drawn from the operating system'
        : `configured${seedWeak ? ' (WEAK: below 2^96)' : ''}`;
    const facts = [
      ['study', name],
      ['mode', overview.mode],
      ['state', paused ? `${overview.state} since ${paused.at}: ${paused.reason}` : overview.state],
      ['participants', enrolled(overview.participants, overview.target)],
      ['registered', registeredAt],
      ['study id', studyId],
      ['revision', String(study.revision)],
      ['seed', seed],
      ['urn', `D=${D} w=${w} alpha=${alpha} beta=${beta} urn_selection=${urnSelection}`],
      ...(idPattern === undefined ? [] : [['id pattern', idPattern]]),
    ];
    const rows = counts.factors.flatMap(({ factor, levels }) =>
      levels.map(({ level, counts: n }) => [`${factor} = ${level}`, ...n.map(String)]),
    );
    const balanceTable = table([['', ...counts.treatments], ['all', ...counts.totals.map(String)], ...rows]);
    result(`${table(facts)}\n\nparticipants by treatment\n${balanceTable}`);
  });
}

async function setState(
  verb: 'pause' | 'resume',
  name: string,
  options: LogOptions & { reason: string },
): Promise<void> {
  if (options.reason.trim() === '')
    throw new UsageError('--reason needs a text: it is recorded with the event');
  await withStudies(options, async (log) => {
    const study = log?.studies.find(name);
    if (!log || !study) throw unknownStudy(name);
    const { outcome } = await log.studies.submit(
      study.stream,
      { type: verb, reason: options.reason },
      cliActor(),
    );
    const said = {
      paused: 'is paused',
      'already-paused': 'was paused before',
      resumed: 'takes participants again',
      'not-paused': 'was not paused',
    };
    note(`${name} ${said[outcome.type as keyof typeof said]}`);
  });
}

function summary(log: OpenLog, study: Study) {
  const { configuration, paused } = study.registered;
  return {
    name: configuration.name,
    mode: configuration.mode,
    state: log.runner.halted(study.stream) ? 'UNREADABLE' : paused ? 'paused' : 'open',
    participants: log.runner.state(participants, study.stream).inOrder.length,
    target: configuration.targetEnrollment,
    revision: study.revision,
  };
}

function enrolled(count: number, target: number | undefined): string {
  return target === undefined ? `${count} participants` : `${count} of ${target} participants`;
}

/** Opens the log with everything folded; undefined when there is none, since reading should not begin one. */
async function withStudies(
  options: LogOptions,
  use: (log: OpenLog | undefined) => Promise<void>,
): Promise<void> {
  const settings = logSettings(options);
  if (!logExists(settings)) return use(undefined);
  const shown = progress('records read');
  const log = await openLog(settings, cliActor(), {
    onHalted: (stream, error) =>
      note(`warning: stream ${stream} cannot be read any further: ${error.message}`),
  });
  try {
    await log.rebuild(shown.show);
    shown.end();
    await use(log);
  } finally {
    await log.close();
  }
}
