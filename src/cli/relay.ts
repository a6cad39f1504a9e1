/** urn relay: publishes the log to Kafka. */
import type { Command } from 'commander';
import type { MetricsServer } from '../service/http/server.ts';
import { patienceOf, StartProgress, storeErrorLog } from '../service/log-hooks.ts';
import { LOG_LEVELS } from '../service/monitoring/logger.ts';
import type { Relay } from '../service/relay/relay.ts';
import { makeRelayMetrics } from '../service/relay/relay-metrics.ts';
import { FeedError } from '../service/relay/settings.ts';
import { openExisting } from './open-log.ts';
import { cliActor, type LogOptions, logCommand, option } from './options.ts';
import { note } from './output.ts';
import {
  METRICS_HOST,
  metricsPort,
  openLogOutput,
  type RelayOptions,
  relaySettings,
  withRelayOptions,
} from './service-options.ts';

interface Options extends LogOptions, RelayOptions {
  readonly metricsPort?: string;
  readonly metricsHost: string;
  readonly fencedExitCode: string;
  readonly logLevel: string;
}

const HELP = `
Publishes every record of the log as a CloudEvent, in the order of each stream, with signed checkpoints in between. A
consumer that reads only committed records sees each record exactly once, whatever fails (docs/feed.md). The service may
run at the same time, or publish by itself: urn serve --relay. If several relays publish one log into one topic, the
newest one wins.

Runs until SIGTERM. Exit codes: 0 stopped, 2 wrong usage or configuration, 3 another relay has taken over
(--fenced-exit-code).`;

/** Tells a supervisor not to start it again. Docker understands only 0. */
const FENCED_CODES = ['3', '0'];

export function relayCommand(): Command {
  return withRelayOptions(logCommand('relay').description('publish the log to Kafka'))
    .addOption(
      option(
        '--metrics-port <[address:]port>',
        'serve /metrics and /healthz on this port; 0 picks a free one',
      ),
    )
    .addOption(
      option('--metrics-host <address>', 'address to listen on for --metrics-port').default(METRICS_HOST),
    )
    .addOption(
      option(
        '--fenced-exit-code <code>',
        'exit code when another relay has taken over; 0 for Docker (restart: on-failure)',
      )
        .choices(FENCED_CODES)
        .default('3'),
    )
    .addOption(
      option('--log-level <level>', 'lowest level to log')
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
  const opened = await openExisting(
    options,
    {
      onFolded: (stream) => relay?.folded(stream),
      onHalted: (stream, error) =>
        logger.error(
          { stream, why: error.message },
          'a stream cannot be read any further, and is no longer published',
        ),
      onKeyLost: (error) => logger.error({ why: error.message }, 'nothing can be signed or published'),
      onStoreError: storeErrorLog(logger),
    },
    patienceOf(logger),
  );
  let server: MetricsServer | undefined;
  try {
    await new StartProgress(opened, logger).rebuild();
    const broken = opened.runner.halted('log') ?? opened.gate.refusal('log', 'sign');
    if (broken) throw broken;
    opened.runner.follow();
    const { makeRelay } = await import('../service/relay/relay.ts');
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
  // A broker that hangs must not keep the process alive.
  process.exit();
}
