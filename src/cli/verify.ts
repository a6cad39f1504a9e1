/**
 * urn verify: replays a log, or what a bundle includes of it, and compares it with checkpoints that were kept elsewhere. Writes
 * nothing.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { validate } from 'uuid';
import { LAST_CHECKPOINTS } from '../core/log/last-checkpoints.ts';
import { parseVerifierKey, type VerifierKey } from '../core/log/signing.ts';
import { BundleError } from '../evidence/bundle/zip-reader.ts';
import type { Report } from '../evidence/verify/report/report.ts';
import { reportText } from '../evidence/verify/report/report-text.ts';
import {
  type LastSigned,
  UnknownStudyError,
  type Verification,
  verifyLog,
} from '../evidence/verify/verify.ts';
import { verifyBundle } from '../evidence/verify/verify-bundle.ts';
import { openForVerification } from '../service/open/open-store.ts';
import { StoreError } from '../store/event-store.ts';
import { checkpointsIn } from './files.ts';
import {
  jsonOption,
  option,
  PATIENCE,
  repeatedOption,
  type StoreOptions,
  storeCommand,
  UsageError,
} from './options.ts';
import { note, progress, result } from './output.ts';

interface VerifyOptions extends StoreOptions {
  readonly study?: string[];
  readonly bundle?: string;
  readonly checkpoint?: string[];
  readonly trust?: string[];
  readonly studyId?: string;
  readonly lastCheckpoints: boolean;
  readonly json?: boolean;
}

const HELP = `
Every event is decided again from the configuration, the participants before it and the recorded state of the generator,
and compared field by field. That shows that the history is consistent. Only checkpoints that left the operator's hands,
under a key that you have from elsewhere, show that it is the one that happened: a change to revision r is found only by
a checkpoint of a size above r.

The report is for auditors: it names treatments and generator states where they are wrong, so it is not for blinded readers.

A checkpoint file contains signed notes as they are, separated by empty lines, or in base64, one line for each, as in the
response header Urn-Receipt. A key is a verifier key (name+hash+base64), or a file with one.

If the data folder says what the log signed last (last-checkpoints), the log must hold that too. This proves nothing, and
--no-last-checkpoints leaves it out, for a copy that was restored elsewhere. It is a failure if receipts are given and
none belongs to a study that is verified; --study-id names the study that must be found.

The log may be in use; records appended after the start are left out. Nothing is written, and the signing key is not
needed. Exit codes: 0 no failure (the report says what that proves), 1 a failure, 2 wrong usage.

A bundle (urn bundle) needs no log. What it withholds is not checked, and the report says so: with the contents open and
blinded, no draw is decided again. Checkpoints in the bundle are compared, and reported separately from yours.

Examples:
  urn verify --data ./data
  urn verify --bundle study.zip --trust urn.vkey --checkpoint receipts.txt
  urn verify --store sqlite:copy.sqlite --study "CHS JCOIN" --trust urn.vkey --checkpoint receipts.txt`;

export function verifyCommand(): Command {
  return storeCommand('verify')
    .description(
      'verify studies without trusting the service: replay them, and compare them with checkpoints',
    )
    .addOption(repeatedOption('--study <name>', 'verify only this study, with log and access (repeatable)'))
    .addOption(
      option(
        '--study-id <uuid>',
        'verify the study with this id, which must be found: a twin has a different id',
      ),
    )
    .addOption(option('--bundle <file>', 'verify this bundle instead of a log'))
    .addOption(
      repeatedOption('--checkpoint <file>', 'compare with the checkpoints in this file (repeatable)'),
    )
    .addOption(
      repeatedOption('--trust <vkey>', 'trust this verifier key, or the one in this file (repeatable)'),
    )
    .addOption(
      option(
        '--no-last-checkpoints',
        'do not compare with the last-checkpoints of the data folder: for a copy restored elsewhere',
      ),
    )
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(verify);
}

async function verify(options: VerifyOptions, command: Command): Promise<void> {
  const shown = progress('records verified');
  const given = {
    trusted: (options.trust ?? []).map(trustedKey),
    checkpoints: (options.checkpoint ?? []).flatMap(checkpointsIn),
    studyId: options.studyId === undefined ? undefined : parsedStudyId(options.studyId),
    onProgress: shown.show,
  };
  try {
    const report = await (options.bundle === undefined
      ? verifiedLog(options, given)
      : verifiedBundle(options.bundle, given, command));
    shown.end();
    result(options.json ? JSON.stringify(report, null, 2) : reportText(report));
    if (!report.ok) process.exitCode = 1;
  } catch (error) {
    // Verification exists to find damage: a damaged database is a result.
    if (!(error instanceof StoreError) || error.failure !== 'corrupt') throw error;
    note(`urn: ${error.message}`);
    process.exitCode = 1;
  }
}

/** A key of a log, as an auditor has it from elsewhere. @throws UsageError, DomainError `identity` */
export function trustedKey(given: string): VerifierKey {
  if (!existsSync(given)) return parseVerifierKey(given, 'what --trust names');
  return parseVerifierKey(readBytes(given).toString('utf8').trim(), given);
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`);
  }
}

/** The id of a study, as an auditor has it from elsewhere. @returns in lower case. @throws UsageError */
export function parsedStudyId(given: string): string {
  const id = given.toLowerCase().replace(/^study-/, '');
  if (validate(id)) return id;
  throw new UsageError(
    `${JSON.stringify(given)} is not a study id (hint: use the UUID after "study-" in the origin of a receipt, or the one that urn studies show prints)`,
  );
}

type VerificationInput = Omit<Verification, 'source'>;

async function verifiedLog(
  { study, lastCheckpoints, ...options }: VerifyOptions,
  given: VerificationInput,
): Promise<Report> {
  // Read before the log: a running service signs what it appends.
  const lastSigned = lastCheckpoints ? lastSignedIn(options.data) : undefined;
  const source = await openForVerification({ ...options, patience: PATIENCE });
  try {
    if (source.copy !== undefined)
      note(
        `the folder of the log cannot be used as it is: reading a copy in ${source.copy}, which is removed at the end`,
      );
    return await verifyLog({ ...given, source, studies: study, lastSigned });
  } catch (error) {
    if (!(error instanceof UnknownStudyError)) throw error;
    throw new UsageError(`no study "${error.message}" is registered (hint: urn studies list)`);
  } finally {
    await source.close();
  }
}

/** What the log signed last, as the data folder says; undefined if it does not. @throws UsageError */
function lastSignedIn(data: string): LastSigned | undefined {
  const file = join(data, LAST_CHECKPOINTS);
  if (!existsSync(file)) return undefined;
  try {
    return { file, checkpoints: checkpointsIn(file) };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(
      `${error.message} (hint: this file says what the log signed last; restore it, or leave it out of the comparison with --no-last-checkpoints)`,
    );
  }
}

async function verifiedBundle(file: string, given: VerificationInput, command: Command): Promise<Report> {
  // Variables of the environment do not count: the machine may have them for its service.
  const other = command.options.find(
    (one) =>
      ['data', 'store', 'streamPrefix', 'study', 'lastCheckpoints'].includes(one.attributeName()) &&
      command.getOptionValueSource(one.attributeName()) === 'cli',
  )?.long;
  if (other !== undefined)
    throw new UsageError(
      `--bundle and ${other} cannot be combined (hint: a bundle holds one study, and needs no log)`,
    );
  try {
    return await verifyBundle({ ...given, file });
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new UsageError(`${error.message}`);
  }
}
