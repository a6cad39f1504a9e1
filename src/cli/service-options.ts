/**
 * What the commands that go on running, `urn serve` and `urn relay`, have in common: the options of Kafka and of the port of
 * the metrics, and where their log goes.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Command } from 'commander';
import type { LogDescriptor } from 'pino';
import type { Registry } from 'prom-client';
import { CONTENTS, type Content } from '../../events/record.ts';
import { printable } from '../base/text.ts';
import type { MetricsServer } from '../service/http/server.ts';
import { endLog, type Logger, logDestination, makeLogger } from '../service/monitoring/logger.ts';
import { type RelaySettings, SASL_MECHANISMS, type SaslMechanism } from '../service/relay/settings.ts';
import { option, UsageError } from './options.ts';

/** Of publishing to Kafka, for `urn relay` and `urn serve --relay`. */
export interface RelayOptions {
  readonly kafkaBrokers?: string;
  readonly kafkaTopic?: string;
  readonly kafkaContent: Content;
  readonly kafkaTls?: boolean;
  readonly kafkaCa?: string;
  readonly kafkaUsername?: string;
  readonly kafkaPasswordFile?: string;
  readonly kafkaMechanism: SaslMechanism;
  readonly createTopics?: boolean;
}

/** The password itself is never an argument: anyone on the machine can read the arguments of a process. */
const PASSWORD_VARIABLE = 'URN_KAFKA_PASSWORD';

export function withRelayOptions(command: Command): Command {
  return command
    .addOption(option('--kafka-brokers <list>', 'Kafka brokers to connect to first: host:port,…'))
    .addOption(option('--kafka-topic <name>', 'topic of the feed (default: urn-<log name>)'))
    .addOption(
      option(
        '--kafka-content <what>',
        'which sealed sections the feed includes; anything but blinded is unblinding material',
      )
        .choices(CONTENTS)
        .default('blinded'),
    )
    .addOption(option('--kafka-tls', 'connect with TLS'))
    .addOption(option('--kafka-ca <file>', 'certificates to trust (PEM), instead of those of the system'))
    .addOption(option('--kafka-username <name>', `SASL user; the password is read from ${PASSWORD_VARIABLE}`))
    .addOption(
      option('--kafka-password-file <file>', `file with the SASL password, instead of ${PASSWORD_VARIABLE}`),
    )
    .addOption(
      option('--kafka-mechanism <name>', 'SASL mechanism').choices(SASL_MECHANISMS).default('scram-sha-512'),
    )
    .addOption(option('--create-topics', 'create missing topics'));
}

/** @throws UsageError */
export function relaySettings(options: RelayOptions): RelaySettings {
  const { kafkaCa: ca, kafkaTopic: topic, kafkaContent: content } = options;
  if (ca !== undefined && !options.kafkaTls) throw new UsageError('--kafka-ca needs --kafka-tls');
  return {
    brokers: brokersOf(options.kafkaBrokers),
    topic,
    content,
    tls: options.kafkaTls ? { ca: ca === undefined ? undefined : readText('--kafka-ca', ca) } : undefined,
    sasl: saslOf(options),
    createTopics: options.createTopics ?? false,
  };
}

function brokersOf(list: string | undefined): string[] {
  if (list === undefined)
    throw new UsageError('no Kafka brokers are given (hint: --kafka-brokers host:port,…)');
  const brokers = list.split(',').map((broker) => broker.trim());
  for (const broker of brokers) {
    const [, port = ''] = /^(?:\[[0-9a-fA-F:]+\]|[^\s:/]+):(\d{1,5})$/.exec(broker) ?? [];
    if (port === '' || Number(port) > 65535)
      throw new UsageError(
        `--kafka-brokers: "${broker}" is not host:port (hint: kafka1:9092,kafka2:9092, without a scheme)`,
      );
  }
  return brokers;
}

function readText(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${name} ${file} cannot be read: ${(error as Error).message}`);
  }
}

function saslOf(options: RelayOptions): RelaySettings['sasl'] {
  const { kafkaUsername: username, kafkaPasswordFile: file, kafkaMechanism: mechanism } = options;
  const given = process.env[PASSWORD_VARIABLE];
  const password = file === undefined ? given : readText('--kafka-password-file', file).replace(/\r?\n$/, '');
  if (username === undefined) {
    if (file !== undefined) throw new UsageError('--kafka-password-file needs --kafka-username');
    return undefined;
  }
  if (password === undefined || password === '')
    throw new UsageError(
      `--kafka-username needs a password (hint: in the environment as ${PASSWORD_VARIABLE}, or --kafka-password-file)`,
    );
  return { mechanism, username, password };
}

/** Where /metrics is served if nobody names an address: only to programs on this machine. */
export const METRICS_HOST = '127.0.0.1';

/**
 * Parses the option --metrics-port into a function that serves /metrics.
 * @param text `port` or `address:port`, an IPv6 address in brackets; undefined if the option is not given
 * @param otherwise the address, if the text is only a port
 * @throws UsageError; so does the function, if it cannot listen on the port
 */
export function metricsPort(
  text: string | undefined,
  otherwise: string,
): ((registry: Registry) => Promise<MetricsServer>) | undefined {
  if (text === undefined) return undefined;
  const [, ipv6, other, port = ''] = /^(?:(?:\[([^\]]*)\]|([^:[\]]+)):)?(.*)$/.exec(text) ?? [];
  if (!/^\d+$/.test(port) || Number(port) > 65535 || (ipv6 !== undefined && isIP(ipv6) !== 6))
    throw new UsageError(
      `--metrics-port ${text} is not a port (hint: 9464, or with an address to listen on: 10.0.0.7:9464, [::1]:9464)`,
    );
  return async (registry) => {
    // This loads Express, which no other part of `urn relay` needs.
    const { serveMetrics } = await import('../service/http/server.ts');
    try {
      return await serveMetrics(registry, ipv6 ?? other ?? otherwise, Number(port));
    } catch (error) {
      throw new UsageError(
        `cannot listen on --metrics-port ${text}: ${(error as Error).message} (hint: choose another port or address)`,
      );
    }
  };
}

/** The output of a long-running command: lines for people on a terminal, JSON for machines anywhere else. */
interface LogOutput {
  readonly logger: Logger;
  /** Writes a last line and waits until it is written, but not for long. */
  end(last: string): Promise<void>;
}

export async function openLogOutput(level: string): Promise<LogOutput> {
  if (process.stderr.isTTY) return onTerminal(level);
  const out = logDestination();
  const logger = makeLogger(level, out);
  return { logger, end: (last) => endLog(logger, out, last) };
}

async function onTerminal(level: string): Promise<LogOutput> {
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({
    // A terminal must not obey what a name contains, and the codes for colours would be indistinguishable from that.
    colorize: false,
    translateTime: 'SYS:HH:MM:ss',
    hideObject: true,
    messageFormat: logLine,
  });
  const logger = makeLogger(level, { write: (json) => process.stderr.write(printable(pretty(json))) });
  return { logger, end: async (last) => logger.info(last) };
}

/** Members that are shown elsewhere in the line. */
const SHOWN_ELSEWHERE = new Set(['level', 'time', 'msg']);

function logLine(log: LogDescriptor): string {
  const members = Object.entries(log).filter(([name]) => !SHOWN_ELSEWHERE.has(name));
  return [log['msg'], ...members.map(([name, value]) => `${name}=${valueText(value)}`)].join('  ');
}

function valueText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
}
