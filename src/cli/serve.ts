/** urn serve */
import { appendFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Command } from 'commander';
import { participants } from '../../projections/participants.ts';
import { formatFinding } from '../configuration/finding.ts';
import { LOG_LEVELS } from '../logger.ts';
import { permissionWarnings } from '../permissions.ts';
import type { Service } from '../service.ts';
import { isInMemory } from '../store-location.ts';
import { openLogOutput } from './log-output.ts';
import { cliActor, type LogOptions, logCommand, logSettings, option, UsageError } from './options.ts';
import { note, result } from './output.ts';
import { type RelayOptions, relaySettings, withRelayOptions } from './relay-options.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { VERSION } from './version.ts';

interface ServeOptions extends LogOptions, RelayOptions {
  relay?: boolean;
  studies?: string;
  host: string;
  port: string;
  firstKey?: boolean;
  tlsCert?: string;
  tlsKey?: string;
  trustProxy?: string | true;
  datetimeFormat: 'http-date' | 'sql';
  logLevel: string;
  witness?: string;
}

export function serveCommand(): Command {
  const command = logCommand('serve')
    .description('serve the studies of the file and of the log over HTTP')
    .addOption(
      option('--studies <file>', `studies to register (default: ${DEFAULT_STUDIES_FILE}, if it exists)`),
    )
    .addOption(option('--host <address>', 'address to listen on').default('127.0.0.1'))
    .addOption(option('--port <number>', 'port to listen on; 0 takes a free one').default('8080'))
    .addOption(
      option(
        '--first-key',
        'with no key yet: issue one (read,randomize, user admin) and print it once; on a terminal this is the default',
      ),
    )
    .addOption(option('--tls-cert <file>', 'serve HTTPS with this certificate chain (PEM)'))
    .addOption(option('--tls-key <file>', 'private key of the certificate (PEM)'))
    .addOption(
      option(
        '--trust-proxy [hops]',
        'behind a proxy: take the client address from X-Forwarded-For; a number of proxies (default 1) or their addresses',
      ),
    )
    .addOption(
      option(
        '--datetime-format <format>',
        'of participant records: http-date (GMT), or sql (YYYY-MM-DD HH:MM:SS in UTC) for old clients',
      )
        .choices(['http-date', 'sql'])
        .default('http-date'),
    )
    .addOption(
      option(
        '--witness <file>',
        'append the newest checkpoint of every stream that grew, at most once a second; keep the file, or copies of it, where the operator of the service cannot change them',
      ),
    )
    .addOption(
      option('--log-level <level>', 'least important lines to log')
        .choices([...LOG_LEVELS])
        .default('info'),
    )
    .addOption(option('--relay', 'publish the log into Kafka, as urn relay does (with --kafka-brokers)'));
  return withRelayOptions(command).action(serve);
}

async function serve(options: ServeOptions): Promise<void> {
  const port = Number(options.port);
  if (!/^\d+$/.test(options.port) || port > 65535)
    throw new UsageError(`--port ${options.port} is not a port (0 to 65535)`);
  const tls = tlsOf(options);
  const { studies, warnings } = readStudiesFile(options.studies);
  for (const warning of warnings) note(`warning: ${formatFinding(warning)}`);
  checkWitness(options.witness);
  const relay = options.relay ? relaySettings(options) : undefined;
  const { logger, end } = await openLogOutput(options.logLevel);
  const trustProxy = trustOf(options.trustProxy);

  // Express and its companions take half of the program's start, and no other command needs them.
  const { startService } = await import('../service.ts');
  const service = await startService(
    {
      ...logSettings(options),
      studies,
      host: options.host,
      port,
      tls,
      trustProxy,
      datetimeFormat: options.datetimeFormat,
      version: VERSION,
      witness: options.witness,
      relay,
    },
    cliActor(),
    logger,
  );
  if (!isInMemory(options))
    for (const warning of permissionWarnings(logSettings(options), options.allowGroupKey))
      logger.warn(warning);
  if (!isLoopback(options.host) && !tls && trustProxy === undefined)
    logger.warn(
      'listening beyond this machine without TLS: keys and allocations can be read on the way (hint: --tls-cert and --tls-key, or a TLS proxy in front with --trust-proxy)',
    );
  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    logger.info({ signal }, 'shutting down: answering what was accepted');
    await service.stop();
    await end('stopped');
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  logger.info(
    {
      address: service.address,
      logName: service.log.identity.logName,
      logId: service.log.identity.logId,
      verifierKey: service.log.identity.signingKey.publicKey,
      version: VERSION,
    },
    'ready',
  );
  if (options.firstKey || process.stdout.isTTY) await issueFirstKey(service);
}

function checkWitness(file: string | undefined): void {
  if (file === undefined) return;
  try {
    appendFileSync(file, '', { mode: 0o600 });
  } catch (error) {
    throw new UsageError(
      `--witness ${file} cannot be written: ${(error as Error).message} (hint: its folder must exist, and this user be able to write to it)`,
    );
  }
}

function tlsOf({ tlsCert, tlsKey }: ServeOptions): { certFile: string; keyFile: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw new UsageError('--tls-cert and --tls-key go together');
  return { certFile: tlsCert, keyFile: tlsKey };
}

function trustOf(trust: string | true | undefined): number | string | undefined {
  if (trust === undefined) return undefined;
  if (trust === true || trust === 'true') return 1;
  if (/^\d+$/.test(trust)) return Number(trust);
  for (const proxy of trust.split(',').map((address) => address.trim()))
    if (!PROXY_RANGES.has(proxy) && isIP(proxy.replace(/\/\d{1,3}$/, '')) === 0)
      throw new UsageError(
        `--trust-proxy "${trust}" is neither a number of proxies nor their addresses (hint: 1, or 10.0.0.7, or 10.0.0.0/8)`,
      );
  return trust;
}

/** Names that Express knows. */
const PROXY_RANGES = new Set(['loopback', 'linklocal', 'uniquelocal']);

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

async function issueFirstKey({ log, address }: Service): Promise<void> {
  if (log.keys.list().length > 0) {
    note(`serving at ${address} (documentation: ${address}/docs); for another API key: urn keys add USER`);
    return;
  }
  const issued = await log.keys.issue({ user: 'admin', scopes: ['read', 'randomize'] }, cliActor());
  if ('refused' in issued) throw new Error(issued.refused);
  const { apiKey } = issued;
  const lines = [
    `The service is ready at ${address}; its documentation is at ${address}/docs`,
    '',
    'API key for the user "admin" (read,randomize). It is shown only now and cannot be shown again:',
    '',
    `  ${apiKey}`,
    '',
    ...tryIt(log, address, apiKey),
    ...firstCheckpoints(log),
    `Verifier key of this log: ${log.identity.signingKey.publicKey}`,
    '                       (to be archived with the checkpoints, and given to auditors: urn verify --trust)',
    'More keys:             npx urn keys add USER',
    'A key for an auditor:  npx urn keys add USER --scope read,audit',
    '                       (shows generator states, from which the next arm can be computed: for someone who does not enrol)',
  ];
  result(lines.join('\n'));
}

/** Of the studies that have no participant yet. */
function firstCheckpoints({ studies, ledger }: Service['log']): string[] {
  return studies
    .list()
    .filter(({ stream }) => ledger.tree(stream).size === 1 && ledger.maySign(stream))
    .flatMap(({ stream, registered }) => [
      `First checkpoint of the study "${registered.configuration.name}". Archive it outside this machine before the first`,
      'participant: it proves the configuration that was registered (urn studies show prints it again).',
      '',
      ledger.checkpoint(stream, 1).note,
    ]);
}

/** A curl line that works as it is printed: it randomizes into the first study that takes any id. */
function tryIt(log: Service['log'], address: string, apiKey: string): string[] {
  const study = log.studies.list().find(({ registered }) => registered.configuration.idPattern === undefined);
  if (!study) return [];
  const { name, factors } = study.registered.configuration;
  const taken = log.runner.state(participants, study.stream).byId;
  let number = 1;
  while (taken.has(id(number))) number++;
  const parameters = [
    ['study', name],
    ['id', id(number)],
    ...factors.map((factor) => [factor.name, factor.levels[0] ?? '']),
    // curl encodes what follows the "=" alone.
  ].map(([key = '', value]) => `--data-urlencode ${quoted(`${encodeURIComponent(key)}=${value}`)}`);
  return [
    'Randomize a first participant:',
    '',
    `  curl -X POST -G ${quoted(`${address}/study_participants`)} -H ${quoted(`X-API-Key: ${apiKey}`)} ${parameters.join(' ')}`,
    '',
  ];
}

function id(number: number): string {
  return String(number).padStart(3, '0');
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
