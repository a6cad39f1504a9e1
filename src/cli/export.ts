/**
 * urn export: the participants of a study as a file, for statisticians or for the reference implementation. The command
 * comes first, then what it writes, by format.
 */
import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Content } from '../../events/record.ts';
import { fileNameAbout } from '../base/files.ts';
import { counted } from '../base/wording.ts';
import { generatorOf, type Model } from '../core/model/model.ts';
import type { Participant } from '../core/model/participants.ts';
import { participants, studyState } from '../core/study/fold.ts';
import { columnsOf, dictionary, headLine, rowLines, rScript, sasScript } from '../evidence/export/columns.ts';
import {
  byCounting,
  checkReference,
  DRAWN_MORE,
  eatenNames,
  notCountedCsv,
  problemsOfReference,
  referenceCsv,
  trueTimes,
} from '../evidence/export/reference.ts';
import { foldUntil, isBeyond, parseRevision, REVISION_FORM } from '../evidence/history/history.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { refuseUnfit, STDOUT, writeNew } from './files.ts';
import { recordDisclosure, withLog } from './open-log.ts';
import { jsonOption, type LogOptions, logCommand, option, UsageError, unknownStudy } from './options.ts';
import { note, progress, result } from './output.ts';

interface ExportOptions extends LogOptions {
  readonly study: string;
  readonly format: keyof typeof FORMATS;
  readonly out?: string | undefined;
  readonly revision?: string;
  readonly blinded?: boolean;
  readonly excel?: boolean;
  readonly json?: boolean;
}

const HELP = `
  csv   for statisticians: one row per participant, in the order of randomization. With --out also a data dictionary and
        scripts that read the file into R and SAS (FILE.dictionary.csv, FILE.R, FILE.sas).
  reference-csv
        for moving to the reference implementation, whose upload-participants reads it and continues bit for bit. Its times
        increase strictly; the true ones are in FILE.at.csv. Participants who are not counted in the urns are left out and
        listed in FILE.not-counted.csv. The command reads the file back and draws five more participants from it and from
        the study, to compare them.

Without --blinded a csv names the arm of every participant (unblinding material); a reference-csv also contains the
states of the generator. The export is recorded (urn operations) before anything is shown. No file is overwritten.

Example:
  urn export --study "CHS JCOIN" --format csv --blinded --out participants.csv`;

export function exportCommand(): Command {
  return logCommand('export')
    .description('write the participants of a study as comma-separated values')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(
      option('--format <name>', 'what the file is for, see below')
        .choices(Object.keys(FORMATS))
        .makeOptionMandatory(),
    )
    .addOption(
      option(
        '--out <file>',
        'the file to write, or a folder for a file with a name of its own: <study>-<what>.csv, for a test <study>-TEST-… (default: -, standard output)',
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
    .action(exportStudy);
}

async function exportStudy(asked: ExportOptions): Promise<void> {
  const options = asked.out === STDOUT ? { ...asked, out: undefined } : asked;
  const { study, out, json, format } = options;
  if (json && out === undefined) throw new UsageError('--json describes the files that --out writes');
  const content = FORMATS[format].contentOf(options);
  await withLog(options, async (log) => {
    const exported = await studyAt(log, study, revisionOf(options));
    const { mode } = exported.state.design;
    const file = out === undefined ? undefined : fileFor(out, options, content, mode === 'test');
    const written = FORMATS[format].write(exported, options, basename(file ?? ''));
    const files = Object.entries({ '': written.text, ...written.companions });
    // Before the export is recorded.
    if (file !== undefined) refuseUnfit(files.map(([suffix]) => `${file}${suffix}`));
    const { revision } = exported;
    const sha256 = createHash('sha256').update(written.text).digest('hex');
    await recordExport(log, { study, content, toRevision: revision }, sha256);
    if (file === undefined) process.stdout.write(written.text);
    else for (const [suffix, text] of files) writeNew(`${file}${suffix}`, text);
    const { participants, facts, remarks, warnings } = written;
    for (const warning of warnings) note(`warning: ${warning}`);
    const sentences = [
      `${counted(participants, 'participant')}, revision ${revision}, sha256 ${sha256}`,
      ...remarks,
    ];
    if (file === undefined) return note(sentences.join('\n'));
    const paths = files.map(([suffix]) => `${file}${suffix}`);
    const described = { format, content, study, mode, participants, ...facts, revision, sha256 };
    result(
      json ? JSON.stringify({ files: paths, ...described }, null, 2) : [...sentences, ...paths].join('\n'),
    );
  });
}

/** A study at a revision. */
interface ExportedStudy {
  readonly state: Model;
  /** In the order of randomization. */
  readonly participants: readonly Participant[];
  readonly revision: number;
}

/** @throws UsageError when there is no such study, or it has not come to this revision */
async function studyAt(
  { store, identity, studies }: OpenLog,
  name: string,
  asked: number | undefined,
): Promise<ExportedStudy> {
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

/** @throws UsageError */
function revisionOf({ revision }: ExportOptions): number | undefined {
  if (revision === undefined) return undefined;
  const parsed = parseRevision(revision);
  if (parsed === undefined) throw new UsageError(`--revision "${revision}" is not ${REVISION_FORM}`);
  return parsed;
}

function fileFor(out: string, { study, format }: ExportOptions, content: Content, isTest: boolean): string {
  const path = resolve(out);
  if (!existsSync(path) || !statSync(path).isDirectory()) return path;
  const which = format === 'csv' ? content : 'reference';
  return resolve(path, fileNameAbout(study, { isTest, what: which, extension: '.csv' }));
}

/** The digest of a file with arms is sealed: see `EvidenceDisclosed`. */
async function recordExport(
  log: OpenLog,
  about: { readonly study: string; readonly content: Content; readonly toRevision: number },
  sha256: string,
): Promise<void> {
  const what = 'export' as const;
  if (about.content === 'blinded') await recordDisclosure(log, { what, ...about, sha256 });
  else await recordDisclosure(log, { what, ...about }, { file: { sha256 } });
  const warning = UNBLINDING_WARNINGS[about.content];
  if (warning !== undefined) note(`warning: this is UNBLINDING MATERIAL: ${warning}`);
}

const UNBLINDING_WARNINGS: Partial<Record<Content, string>> = {
  full: 'it names the treatment of every participant, and the state from which every later one can be computed',
  open: 'it names the treatment of every participant',
};

interface FormatOptions {
  readonly blinded?: boolean;
  readonly excel?: boolean;
  readonly out?: string | undefined;
}

interface ExportText {
  readonly text: string;
  /** Further files, by what is appended to the name of the first. They are written with --out only. */
  readonly companions: Readonly<Record<string, string>>;
  /** How many participants are in the file. */
  readonly participants: number;
  /** For the JSON of the command. */
  readonly facts: Readonly<Record<string, number>>;
  /** Sentences for the person who reads the output. */
  readonly remarks: readonly string[];
  readonly warnings: readonly string[];
}

interface Format {
  /** How much the file shows of the study, which also decides its name. */
  contentOf(options: FormatOptions): Content;
  /** @param file name of the file, without its folder */
  write(exported: ExportedStudy, options: FormatOptions, file: string): ExportText;
}

const FORMATS: Readonly<Record<'csv' | 'reference-csv', Format>> = {
  csv: { contentOf: ({ blinded }) => (blinded ? 'blinded' : 'open'), write: writeList },
  'reference-csv': {
    contentOf: ({ blinded, excel }) => {
      if (blinded)
        throw new UsageError('a reference-csv contains arms and generator states, so it cannot be --blinded');
      if (excel) throw new UsageError('--excel is for csv: the reference would read the apostrophes as data');
      return 'full';
    },
    write: writeReference,
  },
};

function writeList({ state, participants }: ExportedStudy, options: FormatOptions, file: string): ExportText {
  const { blinded: isBlinded = false, excel: isForExcel = false } = options;
  const { design, hasVisits } = state;
  const columns = columnsOf(design, { isBlinded, isForExcel, hasVisits });
  return {
    text: headLine(columns) + rowLines(columns, participants),
    companions: {
      '.dictionary.csv': dictionary(columns, isForExcel),
      '.R': rScript(columns, file),
      '.sas': sasScript(columns, participants, file),
    },
    participants: participants.length,
    facts: {},
    remarks: [],
    warnings: [],
  };
}

/** @throws UsageError listing every reason against it */
function writeReference({ state, participants }: ExportedStudy, { out }: FormatOptions): ExportText {
  const { design, counts } = state;
  const bgState = generatorOf(state);
  const { counted: inUrns, others } = byCounting(participants, design);
  const problems = problemsOfReference(design, participants, bgState);
  if (others.length > 0 && out === undefined)
    problems.push(
      `${counted(others.length, 'participant is', 'participants are')} not counted and must have a file of their own: give --out`,
    );
  if (problems.length > 0)
    throw new UsageError(['the reference could not continue from this study:', ...problems].join('\n  '));
  const text = referenceCsv(design, inUrns);
  checkReference(design, text, { counts, bgState });
  const notCounted = '.not-counted.csv';
  return {
    text,
    companions: {
      '.at.csv': trueTimes(inUrns),
      ...(others.length > 0 && { [notCounted]: notCountedCsv(design, others) }),
    },
    participants: inUrns.length,
    facts: { notCounted: others.length, drawnMore: DRAWN_MORE },
    remarks: [
      `read again: the next ${DRAWN_MORE} participants get the same arms and states from the file as in the study`,
      ...(others.length > 0
        ? [
            `${counted(others.length, 'participant who is not counted is', 'participants who are not counted are')} left out, and in the file that ends in ${notCounted}`,
          ]
        : []),
    ],
    warnings: eatenNames(design).map(
      ([name, eaten]) =>
        `some versions of the reference record the arm ${JSON.stringify(name)} as ${JSON.stringify(eaten)} when they draw it, and then do not count it`,
    ),
  };
}
