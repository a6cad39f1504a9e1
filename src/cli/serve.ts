/** urn serve: runs the service, and issues the first key of a log that has none. */
import { appendFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Command } from 'commander';
import { permissionWarnings, studiesFileWarning } from '../base/files.ts';
import { printable } from '../base/text.ts';
import { formatFinding, StudiesFileError } from '../core/configuration/finding.ts';
import { withoutSize } from '../core/configuration/settings.ts';
import type { StudiesFile } from '../core/configuration/studies-file.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import { openLevels } from '../core/model/design.ts';
import { participants } from '../core/study/fold.ts';
import { LOG_LEVELS, type Logger, writtenLines } from '../service/monitoring/logger.ts';
import { filesOf, isInMemory, sessionKeyFile } from '../service/open/store-location.ts';
import type { Service, ServiceSettings } from '../service/start-service.ts';
import { refuseUnfitLogName } from './open-log.ts';
import { cliActor, type LogOptions, logCommand, logSettings, option, UsageError } from './options.ts';
import { note, result } from './output.ts';
import {
  METRICS_HOST,
  metricsPort,
  openLogOutput,
  type RelayOptions,
  relaySettings,
  withRelayOptions,
} from './service-options.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';
import { VERSION } from './version.ts';

interface ServeOptions extends LogOptions, RelayOptions {
  relay?: boolean;
  studies?: string;
  awaitStudies?: boolean;
  host: string;
  port: string;
  firstKey?: boolean;
  tlsCert?: string;
  tlsKey?: string;
  trustProxy?: string | true;
  publicUrl?: string;
  sessionKey?: string;
  connectionsPerAddress?: string;
  metricsPort?: string;
  datetimeFormat: 'http-date' | 'sql';
  logLevel: string;
  witness?: string;
}

/** A whole hospital may share one address. */
const CONNECTIONS_PER_ADDRESS = 256;

export function serveCommand(): Command {
  const command = logCommand('serve')
    .description('serve the studies in the file and in the log over HTTP')
    .addOption(
      option('--studies <file>', `studies to register (default: ${DEFAULT_STUDIES_FILE}, if it exists)`),
    )
    .addOption(
      option(
        '--await-studies',
        'if the studies file is wrong, read it again after 10 s and 60 s before giving up; for a container, which is started again at once',
      ),
    )
    .addOption(option('--host <address>', 'address to listen on').default('127.0.0.1'))
    .addOption(option('--port <number>', 'port to listen on; 0 picks a free one').default('8080'))
    .addOption(
      option(
        '--first-key',
        'if there is no key yet, issue one (read,randomize, user admin) and print it once; the default on a terminal',
      ),
    );
  withConnectionOptions(command)
    .addOption(
      option(
        '--datetime-format <format>',
        'dates in participant records: http-date (GMT), or sql (YYYY-MM-DD HH:MM:SS in UTC) for old clients',
      )
        .choices(['http-date', 'sql'])
        .default('http-date'),
    )
    .addOption(
      option(
        '--witness <file>',
        'append the newest checkpoint of every stream that grew, at most once a second, and compare the log with them at the start; keep the file outside --data, or copies of it, where the operator of the service cannot change them',
      ),
    )
    .addOption(
      option('--log-level <level>', 'lowest level to log')
        .choices([...LOG_LEVELS])
        .default('info'),
    )
    .addOption(option('--relay', 'publish the log to Kafka, as urn relay does (with --kafka-brokers)'));
  return withRelayOptions(command).action(serve);
}

/** Who may connect, and how. */
function withConnectionOptions(command: Command): Command {
  return command
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
        '--public-url <url>',
        'the address of the service in browsers, if a proxy hides it: https://urn.example.org',
      ),
    )
    .addOption(
      option(
        '--session-key <file>',
        'seals the cookies of people who sign in, the same for all instances (default: session-key in --data)',
      ),
    )
    .addOption(
      option(
        '--connections-per-address <number>',
        `maximum number of connections from one address (default: ${CONNECTIONS_PER_ADDRESS}; no effect with --trust-proxy)`,
      ),
    )
    .addOption(
      option(
        '--metrics-port <[address:]port>',
        `serve /metrics on a separate port, and not to clients; 0 picks a free one (address: ${METRICS_HOST})`,
      ),
    );
}

async function serve(options: ServeOptions): Promise<void> {
  const settings = await settingsOf(options);
  const { logger, end } = await openLogOutput(options.logLevel);
  // Express and its dependencies take half of the start-up time, and no other command needs them.
  const { startService } = await import('../service/start-service.ts');
  const service = await startService(settings, cliActor(), logger);
  for (const warning of risks(options, settings)) logger.warn(warning);
  stopOnSignal(service, logger, end);
  const { logName, logId, signingKey } = service.log.identity;
  logger.info(
    {
      address: service.address,
      metricsAddress: service.metricsAddress,
      logName,
      logId,
      verifierKey: signingKey.publicKey,
      version: VERSION,
    },
    'ready',
  );
  if (!options.firstKey && !process.stdout.isTTY) {
    if (service.log.keys.list().length === 0)
      logger.warn('no key yet: urn keys add NAME (docker compose exec urn urn keys add NAME)');
    return;
  }
  await writtenLines(logger);
  await issueFirstKey(service);
}

/** The settings that the options ask for. @throws UsageError, StudiesFileError */
async function settingsOf(options: ServeOptions): Promise<ServiceSettings> {
  const { host, datetimeFormat, witness, sessionKey } = options;
  const port = Number(options.port);
  if (!/^\d+$/.test(options.port) || port > 65535)
    throw new UsageError(`--port ${options.port} is not a port (0 to 65535)`);
  const tls = tlsOf(options);
  const { studies, warnings } = await (options.awaitStudies ? awaitedStudies : servedStudies)(
    options.studies,
  );
  for (const warning of warnings) note(`warning: ${formatFinding(warning)}`);
  checkWitness(witness);
  await refuseUnfitLogName(options);
  const relay = options.relay ? relaySettings(options) : undefined;
  const trustProxy = trustOf(options.trustProxy);
  return {
    ...logSettings(options),
    ...{ studies, host, port, tls, trustProxy, datetimeFormat, witness, relay, sessionKey },
    publicUrl: publicUrlOf(options.publicUrl),
    connectionsPerAddress: connectionsOf(options, trustProxy !== undefined),
    serveMetrics: metricsPort(options.metricsPort, METRICS_HOST),
    version: VERSION,
  };
}

function tlsOf({ tlsCert, tlsKey }: ServeOptions): { certFile: string; keyFile: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw new UsageError('--tls-cert and --tls-key must be given together');
  return { certFile: tlsCert, keyFile: tlsKey };
}

/** How long a wrong studies file is given to be mended, each time, in s. */
const MENDED_WITHIN_S = [10, 60];

async function awaitedStudies(file: string | undefined): Promise<StudiesFile> {
  for (const seconds of MENDED_WITHIN_S) {
    try {
      return await servedStudies(file);
    } catch (error) {
      if (!(error instanceof StudiesFileError || error instanceof UsageError)) throw error;
      note(`urn: ${error.message}\nurn: the studies file is read again in ${seconds} s`);
      await setTimeout(seconds * 1000);
    }
  }
  return servedStudies(file);
}

/** Whoever reads what a service prints may not know the sizes of blocks. */
async function servedStudies(file: string | undefined): Promise<StudiesFile> {
  try {
    return await readStudiesFile(file);
  } catch (error) {
    if (!(error instanceof StudiesFileError)) throw error;
    throw new StudiesFileError(error.findings.map((one) => ({ ...one, message: withoutSize(one.message) })));
  }
}

function checkWitness(file: string | undefined): void {
  if (file === undefined) return;
  try {
    appendFileSync(file, '', { mode: 0o600 });
  } catch (error) {
    throw new UsageError(
      `--witness ${file} cannot be written: ${(error as Error).message} (hint: its folder must exist, and this user must be able to write to it)`,
    );
  }
}

/** Names that Express knows. */
const PROXY_RANGES = new Set(['loopback', 'linklocal', 'uniquelocal']);

/**
 * The value for Express's setting `trust proxy`, from the option --trust-proxy.
 * @throws UsageError
 */
export function trustOf(trust: string | true | undefined): number | string | undefined {
  if (trust === undefined) return undefined;
  if (trust === true || trust === 'true') return 1;
  if (/^\d+$/.test(trust)) return Number(trust);
  for (const proxy of trust.split(',').map((address) => address.trim()))
    if (!PROXY_RANGES.has(proxy) && !isNetwork(proxy))
      throw new UsageError(
        `--trust-proxy "${trust}" is neither a number of proxies nor their addresses (hint: 1, or 10.0.0.7, or 10.0.0.0/8)`,
      );
  return trust;
}

/** An address, or a network as address/bits. */
function isNetwork(text: string): boolean {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const most = isIP(address) === 4 ? 32 : 128;
  return isIP(address) !== 0 && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= most));
}

/** @throws UsageError */
function publicUrlOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' && [url.origin, `${url.origin}/`].includes(text.toLowerCase()))
    return url.origin;
  throw new UsageError(
    `--public-url ${text} is not the address of a site with HTTPS (hint: https://urn.example.org, without a path)`,
  );
}

/** Behind a proxy every connection comes from the proxy's address, so the limit would apply to all clients together. */
function connectionsOf(
  { connectionsPerAddress: text }: ServeOptions,
  isBehindProxy: boolean,
): number | undefined {
  if (text !== undefined && !/^[1-9]\d{0,5}$/.test(text))
    throw new UsageError(`--connections-per-address ${text} must be a number from 1 to 999999`);
  if (!isBehindProxy) return text === undefined ? CONNECTIONS_PER_ADDRESS : Number(text);
  if (text !== undefined)
    note(
      'warning: --connections-per-address has no effect behind --trust-proxy (hint: limit them in the proxy)',
    );
  return undefined;
}

/** What may be intentional, but exposes the log or the keys. */
function risks(options: ServeOptions, { tls, trustProxy, studies }: ServiceSettings): string[] {
  const { data, sessionKey, allowGroupKey } = options;
  const warnings = isInMemory(options)
    ? []
    : permissionWarnings(
        { ...filesOf(logSettings(options)), sessionKeyFile: sessionKeyFile(data, sessionKey) },
        allowGroupKey,
      );
  const keepsSecrets = ({ parameters = {} }: ConfiguredStudy) => Object.keys(parameters).length > 0;
  const file = studies.find(keepsSecrets)?.file;
  const readable = file === undefined ? undefined : studiesFileWarning(file);
  if (readable !== undefined) warnings.push(readable);
  if (!isLoopback(options.host) && !tls && trustProxy === undefined)
    warnings.push(
      'listening beyond this machine without TLS: keys and allocations can be read in transit (hint: --tls-cert and --tls-key, or a TLS proxy in front with --trust-proxy)',
    );
  return warnings;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

function stopOnSignal(service: Service, logger: Logger, end: (last: string) => Promise<void>): void {
  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    logger.info({ signal }, 'shutting down: answering accepted requests');
    await service.stop();
    await end('stopped');
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** When a log has no key yet: prints the first one, and how to use it. */
async function issueFirstKey({ log, address }: Service): Promise<void> {
  if (log.keys.list().length > 0) {
    note(`serving at ${address} (documentation: ${address}/docs); for another API key: urn keys add USER`);
    return;
  }
  const issued = await log.keys.issue({ user: 'admin', scopes: ['read', 'randomize'] }, cliActor());
  if ('refused' in issued) throw new Error(issued.refused);
  const { apiKey } = issued;
  // What is needed now comes last, where a terminal shows it.
  const lines = [
    ...firstCheckpoints(log),
    `Verifier key of this log: ${log.identity.signingKey.publicKey}`,
    '                       (archive it with the checkpoints, and give it to auditors: urn verify --trust)',
    'More keys:             urn keys add USER',
    'A key for an auditor:  urn keys add USER --scope read,audit',
    '                       (shows generator states, from which the next arm can be computed: for someone who does not enrol)',
    '',
    `The service is ready at ${address}; its documentation is at ${address}/docs`,
    `For its pages, open ${address} in a browser on this machine and paste the key below.`,
    '',
    'API key for the user "admin" (read,randomize). It is shown only now and cannot be shown again:',
    '',
    `  ${apiKey}`,
    '',
    ...tryIt(log, address, apiKey),
  ];
  result(lines.join('\n'));
}

/** For the studies that have no participants yet. */
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

/** A curl command that works as printed, for the first study that takes any id and whose names can be printed. */
function tryIt(log: Service['log'], address: string, apiKey: string): string[] {
  const study = log.studies.list().find(({ design: { idPattern, ...names } }) => {
    return idPattern === undefined && isPrintable(JSON.stringify(names));
  });
  if (!study) return [];
  const { name, factors } = study.design;
  const taken = log.runner.state(participants, study.stream);
  let number = 1;
  while (taken.find(exampleId(number))) number++;
  const parameters = [
    ['study', name],
    ['id', exampleId(number)],
    ...factors.map((factor) => [factor.name, openLevels(factor)[0] ?? '']),
    // curl encodes only what follows the "=".
  ].map(([key = '', value]) => `--data-urlencode ${quotedForShell(`${encodeURIComponent(key)}=${value}`)}`);
  return [
    'Randomize a first participant:',
    '',
    `  curl -X POST -G ${quotedForShell(`${address}/study_participants`)} -H ${quotedForShell(`X-API-Key: ${apiKey}`)} ${parameters.join(' ')}`,
    '',
  ];
}

function isPrintable(text: string): boolean {
  return printable(text) === text;
}

function exampleId(number: number): string {
  return String(number).padStart(3, '0');
}

/** For a POSIX shell. */
function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
