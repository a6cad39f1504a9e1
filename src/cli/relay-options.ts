/** The options of the feed, for `urn relay` and `urn serve --relay`. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { CONTENTS, type Content } from '../../events/record.ts';
import { type RelaySettings, SASL_MECHANISMS, type SaslMechanism } from '../service/relay/settings.ts';
import { option, UsageError } from './options.ts';

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
const PASSWORD = 'URN_KAFKA_PASSWORD';

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
    .addOption(option('--kafka-username <name>', `SASL user; the password is read from ${PASSWORD}`))
    .addOption(option('--kafka-password-file <file>', `file with the SASL password, instead of ${PASSWORD}`))
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

function saslOf(options: RelayOptions): RelaySettings['sasl'] {
  const { kafkaUsername: username, kafkaPasswordFile: file, kafkaMechanism: mechanism } = options;
  const given = process.env[PASSWORD];
  const password = file === undefined ? given : readText('--kafka-password-file', file).replace(/\r?\n$/, '');
  if (username === undefined) {
    if (file !== undefined) throw new UsageError('--kafka-password-file needs --kafka-username');
    return undefined;
  }
  if (password === undefined || password === '')
    throw new UsageError(
      `--kafka-username needs a password (hint: in the environment as ${PASSWORD}, or --kafka-password-file)`,
    );
  return { mechanism, username, password };
}

function readText(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${name} ${file} cannot be read: ${(error as Error).message}`);
  }
}
