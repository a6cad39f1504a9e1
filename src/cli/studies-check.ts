/** urn studies check: reports problems in the studies file, what would be registered, and how the log differs. */
import type { Command } from 'commander';
import { quote } from '../base/text.ts';
import { unblindedBy } from '../core/access/limited-keys.ts';
import { type FileOutcome, outcomeOf, type Recorded } from '../core/configuration/file-and-log.ts';
import { type Finding, formatFinding, StudiesFileError } from '../core/configuration/finding.ts';
import type { CheckedStudiesFile } from '../core/configuration/studies-file.ts';
import { judgeNewStudies } from '../core/configuration/studies-file.ts';
import { adviceOn } from '../core/configuration/warnings.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { NoLogError } from '../service/open/store-location.ts';
import { jsonOption, type LogOptions, logCommand, option } from './options.ts';
import { outcomeText } from './outcome-text.ts';
import { note, result } from './output.ts';
import { checkedStudiesFile, DEFAULT_STUDIES_FILE } from './studies-file.ts';
import { registeredState, withStudies } from './studies-log.ts';

interface Options extends LogOptions {
  studies?: string;
  json?: boolean;
}

const HELP = `
For each study it says whether it is new, as registered, as amended, behind (the file describes an earlier design: bring it up
to date), or differs from the design in force: then it takes no participants, and the exit code is 1. For a new study it
prints what the next urn serve, or urn studies register, would register for good: read it first. docs/studies-file.md
describes the file. If the file is refused, all reasons are listed, each with its line; the exit code is 2.`;

export function checkCommand(): Command {
  return logCommand('check')
    .description('check the studies file, show what would be registered, and compare it with the log')
    .addOption(option('--studies <file>', `the studies file (default: ${DEFAULT_STUDIES_FILE})`))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(check);
}

async function check(options: Options): Promise<void> {
  const file = await checkedStudiesFile(options.studies ?? DEFAULT_STUDIES_FILE);
  const { studies, warnings } = file;
  noteAll('warning', warnings);
  const recorded = await recordedStudies(options);
  const outcomes = studies.map((study) => outcomeOf(study, recorded.get(study.configuration.name), file));
  noteAll('warning', warningsOf(file, recorded, outcomes));
  const advice = studies.flatMap((study) =>
    adviceOn(study, recorded.get(study.configuration.name)?.hasPacks ?? false),
  );
  noteAll('advice', advice);
  if (options.json) result(JSON.stringify({ studies: outcomes, warnings, advice }, null, 2));
  else for (const outcome of outcomes) result(outcomeText(outcome));
  if (outcomes.some(({ outcome }) => outcome === 'differs')) process.exitCode = 1;
}

function noteAll(kind: 'warning' | 'advice', findings: readonly Finding[]): void {
  for (const finding of findings) note(`${kind}: ${formatFinding(finding)}`);
}

/**
 * @returns warnings about new studies
 * @throws StudiesFileError naming everything for which urn serve would refuse the file
 */
function warningsOf(
  { studies, unsound, refusals }: CheckedStudiesFile,
  recorded: ReadonlyMap<string, RecordedWithPacks>,
  outcomes: readonly FileOutcome[],
): readonly Finding[] {
  const isNew = (name: string) => !recorded.has(name);
  const registered = [...recorded.values()].map((study) => study.registered);
  const judgement = judgeNewStudies(studies, isNew, registered);
  const ofUnsound = unsound.flatMap(({ configuration: { name }, refusedIfNew }) =>
    isNew(name) ? refusedIfNew : [],
  );
  const all = [...refusals, ...judgement.refusals, ...ofUnsound];
  if (all.length === 0) return judgement.warnings;
  for (const outcome of outcomes) if (outcome.outcome === 'differs') note(outcomeText(outcome));
  throw new StudiesFileError(all);
}

interface RecordedWithPacks extends Recorded {
  readonly hasPacks: boolean;
}

/** The registered studies, by name. A file can be checked before there is a log. */
async function recordedStudies(options: Options): Promise<Map<string, RecordedWithPacks>> {
  try {
    return await withStudies(options, async (log) => {
      warnOfArmsShown(log);
      return new Map(
        log.studies.list().map((study) => {
          const { registered, design, stream } = study;
          const hasPacks = registeredState(log, study).lists > 0;
          return [design.name, { registered, designs: log.studies.designs(stream), hasPacks }];
        }),
      );
    });
  } catch (error) {
    if (!(error instanceof NoLogError)) throw error;
    note(`${error.message}; so every study in the file is new`);
    return new Map();
  }
}

function warnOfArmsShown({ keys, studies }: OpenLog): void {
  const designs = studies.list().map(({ design }) => design);
  for (const key of keys.list().filter(({ revoked }) => !revoked))
    for (const name of unblindedBy(key, designs))
      note(
        `warning: study ${quote(name)} is blinded, and key ${key.keyId} of ${key.user} shows the arm to anyone who randomizes with it (hint: issue one with --scope blinded,randomize, and revoke this one)`,
      );
}
