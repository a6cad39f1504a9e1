/** urn relay */
import type { Command } from 'commander';
import type { MetricsServer } from '../http/metrics-server.ts';
import { FeedError } from '../relay/feed-error.ts';
import type { Relay } from '../relay/relay.ts';
import { LOG_LEVELS } from '../service/logger.ts';
import { makeRelayMetrics } from '../service/metrics.ts';
import { StartProgress } from '../service/start-progress.ts';
import { openLogOutput } from './log-output.ts';
import { METRICS_HOST, metricsPort } from './metrics-port.ts';
import { openExisting } from './open-log.ts';
import { cliActor, type LogOptions, logCommand, option } from './options.ts';
import { note } from './output.ts';
import { type RelayOptions, relaySettings, withRelayOptions } from './relay-options.ts';

interface Options extends LogOptions, RelayOptions {
  readonly metricsPort?: string;
  readonly metricsHost: string;
  readonly fencedExitCode: string;
  readonly logLevel: string;
}

const HELP = `
Publishes every record of the log, as CloudEvents, in the order of each stream, and signed checkpoints between them. Who
reads committed records alone sees each record once, whatever breaks down (docs/feed.md). The service may run meanwhile,
or does it itself: urn serve --relay. Of several relays of one log into one topic, the newest stays.

Runs until SIGTERM. Exit codes: 0 stopped, 2 wrong usage or configuration, 3 another relay has taken over
(--fenced-exit-code).`;

/** For a supervisor, which must not start it again. Docker's can only be told so by 0. */
const FENCED_CODES = ['3', '0'];

export function relayCommand(): Command {
  return withRelayOptions(logCommand('relay').description('publish the log into Kafka'))
    .addOption(
      option(
        '--metrics-port <[address:]port>',
        'serve /metrics and /healthz on this port; 0 takes a free one',
      ),
    )
    .addOption(option('--metrics-host <address>', 'address of that port').default(METRICS_HOST))
    .addOption(
      option(
        '--fenced-exit-code <code>',
        'when another relay has taken over; 0 for Docker (restart: on-failure)',
      )
        .choices(FENCED_CODES)
        .default('3'),
    )
    .addOption(
      option('--log-level <level>', 'least important lines to log')
        .choices([...LOG_LEVELS])
        .default('info'),
    )
    .addHelpText('after', HELP)
    .action(run);
}

async function run(options: Options): Promise<void> {
  const settings = relaySettings(options);
  const serveMetrics = metricsPort(options.metricsPort, options.metricsHost);
  const { logger, end } = await openLogOutput(options.logLevel);
  let relay: Relay | undefined;
  const opened = await openExisting(options, {
    onFolded: (stream) => relay?.noticed(stream),
    onHalted: (stream, error) =>
      logger.error(
        { stream, why: error.message },
        'a stream cannot be read, and is not published, any further',
      ),
    onKeyLost: (error) => logger.error({ why: error.message }, 'nothing can be signed, nor published'),
    onStoreError: (error) =>
      logger.error({ failure: error.failure, why: error.message }, 'the log cannot be followed'),
  });
  let server: MetricsServer | undefined;
  try {
    await new StartProgress(opened, logger).rebuild();
    const broken = opened.runner.halted('log') ?? opened.gate.refusal('log', 'sign');
    if (broken) throw broken;
    opened.runner.follow();
    const { makeRelay } = await import('../relay/start.ts');
    const made = makeRelay(opened, settings, cliActor(), logger);
    relay = made;
    if (serveMetrics) {
      server = await serveMetrics(makeRelayMetrics(() => made.status()));
      logger.info({ address: server.address }, 'serving metrics');
    }
    const signalled = new Promise<void>((resolve) => {
      const stop = (signal: string) => {
        logger.info({ signal }, 'shutting down: finishing the transaction');
        made.stop().then(resolve);
      };
      process.once('SIGTERM', stop);
      process.once('SIGINT', stop);
    });
    // While it connects, there is no transaction to wait for.
    await Promise.race([made.open().then(() => made.run()), signalled]);
    await end('stopped');
  } catch (error) {
    if (!(error instanceof FeedError)) throw error;
    note(`urn: ${error.message}`);
    process.exitCode = error.failure === 'fenced' ? Number(options.fencedExitCode) : 2;
  } finally {
    server?.close();
    await opened.close();
  }
  // A broker that hangs must not keep the process.
  process.exit();
}
