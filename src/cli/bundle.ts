/** urn bundle: one file to hand over, which anyone can verify without this software. */
import type { Command } from 'commander';
import type { Content } from '../../events/record.ts';
import { counted, plural } from '../base/wording.ts';
import type { KeptCheckpoint } from '../core/log/formats.ts';
import { parseOrigin } from '../core/log/formats.ts';
import { describeRollback } from '../core/log/last-checkpoints.ts';
import { type Bundle, writeBundle } from '../evidence/bundle/bundle.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { checkpointsIn } from './checkpoints.ts';
import { recordDisclosure } from './disclosed.ts';
import { repeatedOption } from './options.ts';
import { note, result, table } from './output.ts';
import { type FileOptions, fileCommand, writeAbout } from './study-file.ts';

interface Options extends FileOptions {
  checkpoint?: string[];
}

const HELP = `
A zip archive with the records, signed checkpoints, the configuration, a report to read and print, and a verifier in Python.
  full     includes every sealed section, so each allocation can be drawn again (unblinding material)
  open     includes the treatments but not the generator's states (unblinding material)
  blinded  includes neither
All three prove the same records. The service may keep running. Making a bundle is recorded (urn operations).`;

const WARNINGS: Partial<Record<Content, string>> = {
  full: 'this bundle is UNBLINDING MATERIAL: it holds every treatment, and the seed and states from which every later assignment can be computed',
  open: 'this bundle is UNBLINDING MATERIAL: it holds the treatment of every participant',
};

export function bundleCommand(): Command {
  return fileCommand('bundle', '.zip')
    .description('write one file about a study to hand over, which can be verified without this software')
    .addOption(
      repeatedOption('--checkpoint <file>', 'add the checkpoints in this file to the bundle (repeatable)'),
    )
    .addHelpText('after', HELP)
    .action(run);
}

async function run({ checkpoint = [], ...options }: Options): Promise<void> {
  const kept = checkpoint.flatMap(checkpointsIn);
  await writeAbout(
    options,
    '.zip',
    async ({ identity, lastCheckpoints }, request) => {
      const checkpoints = ownCheckpoints(identity.logName, ['log', 'access', request.stream], kept);
      return writeBundle({ ...request, lastCheckpoints, checkpoints });
    },
    (log, bundle, file) => reportBundle(log, bundle, file, options),
  );
}

async function reportBundle(log: OpenLog, bundle: Bundle, file: string, options: FileOptions): Promise<void> {
  const { study, content, json } = options;
  await recordDisclosure(log, { what: 'bundle', study, content, sha256: bundle.sha256 });
  for (const rollback of bundle.rolledBack)
    note(
      `warning: ${describeRollback(rollback)}; the bundle has no fresh checkpoints (hint: add the ones you have kept with --checkpoint)`,
    );
  const warning = WARNINGS[content];
  if (warning !== undefined) note(`warning: ${warning}`);
  result(json ? JSON.stringify({ file, content, ...bundle }, null, 2) : bundleText(file, content, bundle));
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
