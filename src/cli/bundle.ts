/**
 * urn bundle and urn report: each writes a file about one study from its records. A bundle is to hand over, and anyone can
 * verify it without this software. A report is the same page on its own, to read and print.
 */
import { once } from 'node:events';
import { createReadStream, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { CONTENTS, type Content, decodeRecord } from '../../events/record.ts';
import { fileNameAbout } from '../base/files.ts';
import { counted, plural } from '../base/wording.ts';
import { type KeptCheckpoint, parseOrigin } from '../core/log/formats.ts';
import { describeRollback } from '../core/log/last-checkpoints.ts';
import { type Bundle, type BundleRequest, writeBundle, writeReport } from '../evidence/bundle/bundle.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import type { StoredRecord } from '../store/event-store.ts';
import { checkpointsIn, refuseUnfit, STDOUT } from './files.ts';
import { recordDisclosure, withLog } from './open-log.ts';
import {
  jsonOption,
  type LogOptions,
  logCommand,
  option,
  repeatedOption,
  UsageError,
  unknownStudy,
} from './options.ts';
import { note, progress, result, table } from './output.ts';
import { VERSION } from './version.ts';

interface BundleOptions extends FileOptions {
  checkpoint?: string[];
}

const BUNDLE_HELP = `
A zip archive with the records, signed checkpoints, the configuration, a report to read and print, and a verifier in Python.
  full     includes every sealed section, so each allocation can be drawn again (unblinding material)
  open     includes the treatments but not the generator's states (unblinding material)
  blinded  includes neither
All three prove the same records. The service may keep running. Making a bundle is recorded (urn operations).`;

export function bundleCommand(): Command {
  return fileCommand('bundle', '.zip')
    .description('write one file about a study to hand over, which can be verified without this software')
    .addOption(
      repeatedOption('--checkpoint <file>', 'add the checkpoints in this file to the bundle (repeatable)'),
    )
    .addHelpText('after', BUNDLE_HELP)
    .action(makeBundle);
}

async function makeBundle({ checkpoint = [], ...options }: BundleOptions): Promise<void> {
  const kept = checkpoint.flatMap(checkpointsIn);
  await writeAbout(
    options,
    '.zip',
    async ({ identity, lastCheckpoints }, request) => {
      const checkpoints = ownCheckpoints(identity.logName, ['log', 'access', request.stream], kept);
      return writeBundle({ ...request, lastCheckpoints, checkpoints });
    },
    (log, bundle, file) => showBundle(log, bundle, file, options),
  );
}

/** The notes of the checkpoints of these streams. The bundle must not reveal the sizes of other streams. */
function ownCheckpoints(
  logName: string,
  streams: readonly string[],
  kept: readonly KeptCheckpoint[],
): string[] {
  const own = kept.filter(({ claims }) =>
    streams.includes(parseOrigin(logName, claims.origin)?.stream ?? ''),
  );
  if (own.length < kept.length)
    note(
      `${kept.length - own.length} of ${counted(kept.length, 'checkpoint')} ${plural(kept.length - own.length, 'belongs to another stream and was', 'belong to other streams and were')} left out`,
    );
  return own.map((one) => one.note);
}

/** About the file, which itself may be the result. */
function tell({ out }: FileOptions, text: string): void {
  if (out === STDOUT) note(text);
  else result(text);
}

async function showBundle(log: OpenLog, bundle: Bundle, file: string, options: FileOptions): Promise<void> {
  const { study, content, json } = options;
  await recordDisclosure(log, { what: 'bundle', study, content, sha256: bundle.sha256 });
  for (const rollback of bundle.rolledBack)
    note(
      `warning: ${describeRollback(rollback)}; the bundle has no fresh checkpoints (hint: add the ones you have kept with --checkpoint)`,
    );
  const warning = BUNDLE_WARNINGS[content];
  if (warning !== undefined) note(`warning: ${warning}`);
  tell(
    options,
    json ? JSON.stringify({ file, content, ...bundle }, null, 2) : bundleText(file, content, bundle),
  );
}

const BUNDLE_WARNINGS: Partial<Record<Content, string>> = {
  full: 'this bundle is UNBLINDING MATERIAL: it holds every treatment, and the seed and states from which every later assignment can be computed',
  open: 'this bundle is UNBLINDING MATERIAL: it holds the treatment of every participant',
};

function bundleText(file: string, content: Content, { streams, ...bundle }: Bundle): string {
  const sizes = streams.map(
    ({ stream, records, withheld }) =>
      `${stream}: ${counted(records, 'record')}${withheld > 0 ? `, ${withheld} withheld` : ''}`,
  );
  return table([
    ['bundle', file],
    ['content', content],
    ['study', `${bundle.study}, ${counted(bundle.participants, 'participant')}`],
    ...sizes.map((size, i) => [i === 0 ? 'records' : '', size]),
    ['public key', bundle.publicKey],
    ['sha-256', bundle.sha256],
    ['verifier', `verify_bundle.py, sha-256 ${bundle.verifierSha256}`],
  ]);
}

const REPORT_HELP = `
One HTML file with configuration, enrolment, balance and events: the report.html of a bundle with this content (urn bundle).
  full, open  names treatments (unblinding material); showing it is recorded (urn operations)
  blinded     names no treatments
The report proves nothing. A bundle does.`;

export function reportCommand(): Command {
  return fileCommand('report', '.html')
    .description('write the report of a study as one HTML file, to read and print')
    .addHelpText('after', REPORT_HELP)
    .action(makeReport);
}

async function makeReport(options: FileOptions): Promise<void> {
  const { study, content, json } = options;
  const write = (_: OpenLog, request: Parameters<typeof writeReport>[0]) => writeReport(request);
  await writeAbout(options, '.html', write, async (log, { participants, revision }, file) => {
    if (content !== 'blinded') {
      await recordDisclosure(log, { what: 'balance', study, toRevision: revision });
      note('warning: this report is UNBLINDING MATERIAL: it names the treatment of every participant');
    }
    tell(options, json ? JSON.stringify({ file, content, study, participants, revision }, null, 2) : file);
  });
}

interface FileOptions extends LogOptions {
  study: string;
  content: Content;
  out?: string;
  json?: boolean;
}

/** The options that both have. @param extension of the file, with its dot */
function fileCommand(name: string, extension: string): Command {
  return logCommand(name)
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(
      option('--content <what>', 'which sealed sections it includes').choices(CONTENTS).default('full'),
    )
    .addOption(
      option(
        '--out <file>',
        `the file to write, or ${STDOUT} for standard output (default: <study>-<content>${extension}; for a test <study>-TEST-…)`,
      ),
    )
    .addOption(jsonOption());
}

type FileRequest = Omit<BundleRequest, 'checkpoints' | 'lastCheckpoints'>;

/**
 * Writes a file about a study where the options say, then passes it to `report`.
 * @throws UsageError if the file already exists, or the study does not; NoLogError
 */
async function writeAbout<Written>(
  { study, content, ...options }: FileOptions,
  extension: string,
  write: (log: OpenLog, request: FileRequest) => Promise<Written>,
  report: (log: OpenLog, written: Written, file: string) => Promise<void>,
): Promise<void> {
  const toStdout = options.out === STDOUT;
  if (toStdout && options.json) throw new UsageError('--json describes a file, so it needs another --out');
  if (toStdout && process.stdout.isTTY)
    throw new UsageError(`standard output is a terminal (hint: urn … --out ${STDOUT} > FILE)`);
  let file: number | undefined;
  const shown = progress('records written');
  await withLog(options, async (log) => {
    const { store, identity, gate, studies } = log;
    const stream = studies.streamOf(study);
    const first = await firstRecord(store.readStream(stream, 0));
    if (!first) throw unknownStudy(study);
    const name = fileNameAbout(study, { isTest: isTest(first), what: content, extension });
    // What is shown is recorded first, so it cannot go straight there.
    const folder = toStdout ? mkdtempSync(join(tmpdir(), 'urn-out-')) : undefined;
    try {
      const out = folder === undefined ? resolve(options.out ?? name) : join(folder, name);
      refuseUnfit([out]);
      const { show: onProgress } = shown;
      const parts = { store, identity, gate, stream, content, version: VERSION, out, onProgress };
      const written = await write(log, parts);
      shown.end();
      await report(log, written, toStdout ? name : out);
      if (toStdout) file = openSync(out, 'r');
    } finally {
      // Before it is shown: whoever reads may end the process.
      if (folder !== undefined) rmSync(folder, { recursive: true });
    }
  });
  if (file === undefined) return;
  for await (const piece of createReadStream('', { fd: file }))
    if (!process.stdout.write(piece)) await once(process.stdout, 'drain');
}

async function firstRecord(pages: AsyncIterable<readonly StoredRecord[]>): Promise<StoredRecord | undefined> {
  for await (const [first] of pages) return first;
  return undefined;
}

/** Used only for the name of a file, so an unreadable record does no harm here. */
function isTest(registration: StoredRecord): boolean {
  try {
    const { type, data } = decodeRecord(registration);
    return type === 'StudyRegistered' && data.configuration.mode === 'test';
  } catch {
    return false;
  }
}
