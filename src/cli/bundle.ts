/** urn bundle: one file to hand over, which anyone can verify without this software. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Bundle, writeBundle } from '../bundle/bundle.ts';
import { CONTENTS, type Content } from '../content.ts';
import { parseOrigin } from '../ledger/checkpoint.ts';
import { describeRollback } from '../ledger/last-checkpoints.ts';
import { checkpointsIn } from './checkpoints.ts';
import { recordDisclosure } from './disclosed.ts';
import { openExisting } from './open-log.ts';
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

interface Options extends LogOptions {
  study: string;
  content: Content;
  out?: string;
  checkpoint?: string[];
  json?: boolean;
}

const HELP = `
A zip archive: records, signed checkpoints, the configuration, a report to read and print, and a verifier in Python.
  full     every sealed section: each allocation can be drawn again (unblinding material)
  open     the treatments, without the generator's states (unblinding material)
  blinded  neither
All three prove the same records. The service may run meanwhile. That a bundle was made is recorded (urn operations).`;

const WARNINGS: Partial<Record<Content, string>> = {
  full: 'this bundle is UNBLINDING MATERIAL: it holds every treatment, and the seed and states from which every later assignment can be computed',
  open: 'this bundle is UNBLINDING MATERIAL: it holds the treatment of every participant',
};

export function bundleCommand(): Command {
  return logCommand('bundle')
    .description('one file about a study to hand over, which can be verified without this software')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(
      option('--content <what>', 'what it discloses of the sealed sections')
        .choices(CONTENTS)
        .default('full'),
    )
    .addOption(option('--out <file>', 'the file to write (default: <study>-<content>.zip)'))
    .addOption(repeatedOption('--checkpoint <file>', 'put the checkpoints in this file into it (repeatable)'))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run({ study, content, checkpoint = [], json, ...options }: Options): Promise<void> {
  const out = resolve(options.out ?? `${fileNameOf(study)}-${content}.zip`);
  if (existsSync(out)) throw new UsageError(`${out} exists already (hint: another --out)`);
  const kept = checkpoint.flatMap(checkpointsIn);
  const log = await openExisting(options);
  try {
    const { store, identity, studies, lastCheckpoints } = log;
    const stream = studies.streamOf(study);
    if (await isEmpty(store.readStream(stream, 0))) throw unknownStudy(study);
    const shown = progress('records written');
    const { show: onProgress } = shown;
    // Of this study alone: the sizes of others are nobody's business.
    const streams = ['log', 'access', stream];
    const checkpoints = kept
      .filter(({ claims }) => streams.includes(parseOrigin(identity.logName, claims.origin)?.stream ?? ''))
      .map((one) => one.note);
    if (checkpoints.length < kept.length)
      note(
        `${kept.length - checkpoints.length} of ${kept.length} checkpoints are of other streams and were left out`,
      );
    const parts = {
      store,
      identity,
      lastCheckpoints,
      stream,
      content,
      checkpoints,
      version: VERSION,
      out,
      onProgress,
    };
    const bundle = await writeBundle(parts);
    shown.end();
    await recordDisclosure(log, { what: 'bundle', study, content, sha256: bundle.sha256 });
    for (const rollback of bundle.rolledBack)
      note(
        `warning: ${describeRollback(rollback)}; the bundle has no fresh checkpoints (hint: put those that were kept into it with --checkpoint)`,
      );
    const warning = WARNINGS[content];
    if (warning !== undefined) note(`warning: ${warning}`);
    result(
      json ? JSON.stringify({ file: out, content, ...bundle }, null, 2) : described(out, content, bundle),
    );
  } finally {
    await log.close();
  }
}

async function isEmpty(pages: AsyncIterable<readonly unknown[]>): Promise<boolean> {
  for await (const page of pages) if (page.length > 0) return false;
  return true;
}

/** The name of a study as part of a file's name. */
function fileNameOf(study: string): string {
  return (
    study
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
      .replace(/^[-.]+/, '')
      .slice(0, 60) || 'study'
  );
}

function described(file: string, content: Content, { streams, ...bundle }: Bundle): string {
  const sizes = streams.map(
    ({ stream, records, withheld }) =>
      `${stream}: ${records} records${withheld > 0 ? `, ${withheld} withheld` : ''}`,
  );
  return table([
    ['bundle', file],
    ['content', content],
    ['study', `${bundle.study}, ${bundle.participants} participants`],
    ...sizes.map((size, i) => [i === 0 ? 'records' : '', size]),
    ['public key', bundle.publicKey],
    ['sha-256', bundle.sha256],
    ['verifier', `verify_bundle.py, sha-256 ${bundle.verifierSha256}`],
  ]);
}
