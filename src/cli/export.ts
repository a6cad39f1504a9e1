/** urn export: the participants of a study as a file, for statisticians or for the reference implementation. */
import { createHash } from 'node:crypto';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Content } from '../../events/content.ts';
import { participants } from '../../projections/participants.ts';
import { createOnce } from '../base/create-once.ts';
import { columnsOf, headLine, rowLines } from '../export/columns.ts';
import { dictionary, rScript, sasScript } from '../export/companions.ts';
import { isBeyond, parseRevision, REVISION_FORM } from '../history/moment.ts';
import { foldUntil } from '../history/past.ts';
import type { OpenLog } from '../open/open-log.ts';
import { type RegisteredState, studyState } from '../study/state.ts';
import { recordDisclosure } from './disclosed.ts';
import { withLog } from './open-log.ts';
import { jsonOption, type LogOptions, logCommand, option, UsageError, unknownStudy } from './options.ts';
import { note, progress, result } from './output.ts';
import { fileNameOf } from './study-file.ts';

interface Options extends LogOptions {
  readonly study: string;
  readonly format: 'csv';
  readonly out?: string;
  readonly revision?: string;
  readonly blinded?: boolean;
  readonly excel?: boolean;
  readonly json?: boolean;
}

const HELP = `
  csv   for statisticians: one row per participant, in the order of randomization. With --out also a data dictionary and
        how to read the file with R and SAS (FILE.dictionary.csv, FILE.R, FILE.sas).

Without --blinded it names the arm of every participant (unblinding material). It is recorded (urn operations) before
anything is shown. No file is overwritten.

Example:
  urn export --study "CHS JCOIN" --format csv --blinded --out participants.csv`;

export function exportCommand(): Command {
  return logCommand('export')
    .description('write the participants of a study as comma-separated values')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(
      option('--format <name>', 'what the file is for, see below').choices(['csv']).makeOptionMandatory(),
    )
    .addOption(
      option(
        '--out <file>',
        'the file to write, or a folder for a file with a name of its own: <study>-<content>.csv, for a test <study>-TEST-… (default: stdout)',
      ),
    )
    .addOption(option('--revision <number>', 'the study as it was at this revision (default: as it is now)'))
    .addOption(option('--blinded', 'leave out the arms'))
    .addOption(
      option(
        '--excel',
        "put ' before texts that a spreadsheet would take for formulas (they begin with = + - @)",
      ),
    )
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

/** A study at a revision. */
interface Exported {
  readonly state: RegisteredState;
  readonly participants: ReturnType<typeof participants.initial>['inOrder'];
  readonly revision: number;
}

interface Written {
  readonly content: Content;
  readonly text: string;
  /** By what is appended to the name of the file. They are written with --out only. */
  readonly companions: Readonly<Record<string, string>>;
}

async function run(options: Options): Promise<void> {
  const { study, out, json } = options;
  if (json && out === undefined) throw new UsageError('--json describes the files that --out writes');
  await withLog(options, async (log) => {
    const exported = await studyAt(log, study, revisionOf(options));
    const { configuration } = exported.state;
    const file = out === undefined ? undefined : fileFor(out, options, configuration.mode === 'test');
    const { content, text, companions } = listOf(exported, options, basename(file ?? `${study}.csv`));
    const files = Object.entries({ '': text, ...companions }).map(([suffix, written]) => {
      return { path: `${file}${suffix}`, written };
    });
    if (file !== undefined) refuseExisting(files.map(({ path }) => path));
    const sha256 = createHash('sha256').update(text).digest('hex');
    const { revision } = exported;
    await recordDisclosure(
      log,
      { what: 'export', study, toRevision: revision, content, ...(content === 'blinded' && { sha256 }) },
      content === 'blinded' ? {} : { file: { sha256 } },
    );
    if (content !== 'blinded')
      note('warning: this is UNBLINDING MATERIAL: it names the treatment of every participant');
    const count = exported.participants.length;
    const sentence = `${count} participants, revision ${revision}, sha256 ${sha256}`;
    if (file === undefined) {
      process.stdout.write(text);
      note(sentence);
      return;
    }
    for (const { path, written } of files) createOnce(path, (draft) => writeFileSync(draft, written));
    const { format } = options;
    const { mode } = configuration;
    const described = { format, content, study, mode, participants: count, revision, sha256 };
    result(
      json
        ? JSON.stringify({ files: files.map(({ path }) => path), ...described }, null, 2)
        : [sentence, ...files.map(({ path }) => path)].join('\n'),
    );
  });
}

/** @throws UsageError */
function revisionOf({ revision }: Options): number | undefined {
  if (revision === undefined) return undefined;
  const parsed = parseRevision(revision);
  if (parsed === undefined) throw new UsageError(`--revision "${revision}" is not ${REVISION_FORM}`);
  return parsed;
}

/** @throws UsageError when there is no such study, or it has not come to this revision */
async function studyAt(
  { store, identity, studies }: OpenLog,
  name: string,
  asked: number | undefined,
): Promise<Exported> {
  const shown = progress('records read');
  const { states, revision } = await foldUntil(
    { store, logId: identity.logId },
    studies.streamOf(name),
    { state: studyState, participants },
    asked === undefined ? () => false : isBeyond({ type: 'revision', revision: asked }),
    shown.show,
  );
  shown.end();
  const { state } = states;
  if (state.status === 'unregistered') throw unknownStudy(name);
  if (asked !== undefined && asked > revision)
    throw new UsageError(`${name} is at revision ${revision}, so it has no revision ${asked} yet`);
  return { state, participants: states.participants.inOrder, revision };
}

/** @param file name of the list, which the scripts that read it contain */
function listOf({ state, participants }: Exported, options: Options, file: string): Written {
  const { blinded: isBlinded = false, excel: isForExcel = false } = options;
  const columns = columnsOf(state.configuration, { isBlinded, isForExcel });
  return {
    content: isBlinded ? 'blinded' : 'open',
    text: headLine(columns) + rowLines(columns, participants),
    companions: {
      '.dictionary.csv': dictionary(columns, isForExcel),
      '.R': rScript(columns, file),
      '.sas': sasScript(columns, participants, file),
    },
  };
}

function fileFor(out: string, { study, blinded }: Options, isTest: boolean): string {
  const path = resolve(out);
  if (!existsSync(path) || !statSync(path).isDirectory()) return path;
  return resolve(path, `${fileNameOf(study)}${isTest ? '-TEST' : ''}-${blinded ? 'blinded' : 'open'}.csv`);
}

/** @throws UsageError */
function refuseExisting(files: readonly string[]): void {
  const existing = files.filter((file) => existsSync(file));
  if (existing.length > 0)
    throw new UsageError(`${existing.join(', ')} exists already (hint: choose another --out)`);
}
