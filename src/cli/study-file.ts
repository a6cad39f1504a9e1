/** Shared by urn bundle and urn report: writes a file about one study from its records. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { CONTENTS, type Content, decodeRecord } from '../../events/record.ts';
import { fileNameAbout } from '../base/files.ts';
import type { BundleRequest } from '../evidence/bundle/bundle.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import type { StoredRecord } from '../store/event-store.ts';
import { withLog } from './open-log.ts';
import { jsonOption, type LogOptions, logCommand, option, UsageError, unknownStudy } from './options.ts';
import { progress } from './output.ts';
import { VERSION } from './version.ts';

export interface FileOptions extends LogOptions {
  study: string;
  content: Content;
  out?: string;
  json?: boolean;
}

/** @param extension of the file, with its dot */
export function fileCommand(name: string, extension: string): Command {
  return logCommand(name)
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(
      option('--content <what>', 'which sealed sections it includes').choices(CONTENTS).default('full'),
    )
    .addOption(
      option(
        '--out <file>',
        `the file to write (default: <study>-<content>${extension}; for a test <study>-TEST-…)`,
      ),
    )
    .addOption(jsonOption());
}

type Request = Omit<BundleRequest, 'checkpoints' | 'lastCheckpoints'>;

/**
 * Writes a file about a study where the options say, then passes it to `report`.
 * @throws UsageError if the file already exists, or the study does not; NoLogError
 */
export async function writeAbout<Written>(
  { study, content, ...options }: FileOptions,
  extension: string,
  write: (log: OpenLog, request: Request) => Promise<Written>,
  report: (log: OpenLog, written: Written, file: string) => Promise<void>,
): Promise<void> {
  const shown = progress('records written');
  await withLog(options, async (log) => {
    const { store, identity, gate, studies } = log;
    const stream = studies.streamOf(study);
    const first = await firstRecord(store.readStream(stream, 0));
    if (!first) throw unknownStudy(study);
    const byDefault = fileNameAbout(study, { isTest: isTest(first), what: content, extension });
    const out = resolve(options.out ?? byDefault);
    if (existsSync(out)) throw new UsageError(`${out} already exists (hint: choose another --out)`);
    const { show: onProgress } = shown;
    const parts = { store, identity, gate, stream, content, version: VERSION, out, onProgress };
    const written = await write(log, parts);
    shown.end();
    await report(log, written, out);
  });
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
