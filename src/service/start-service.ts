/** The running service: listens, reads its log, registers the studies of its file, answers, and drains when told to. */
import type { Registry } from 'prom-client';
import type { OperationsFact } from '../../events/operations.ts';
import type { Actor } from '../../events/record.ts';
import { DomainError } from '../base/errors.ts';
import type { ConfiguredStudy } from '../configuration/studies-file.ts';
import { History } from '../history/history.ts';
import { refusedConnections } from '../http/admission.ts';
import { httpApp } from '../http/app.ts';
import type { MetricsServer } from '../http/metrics-server.ts';
import { countStates } from '../http/readiness.ts';
import { Authentication } from '../http/request/credentials.ts';
import { KeyLimits } from '../http/request/key-limits.ts';
import { StudyViews } from '../http/request/study-request.ts';
import type { DatetimeFormat } from '../http/request/study-view.ts';
import { HttpServer, type Listening } from '../http/server.ts';
import { appendTo, Collector } from '../ledger/collector.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import { type LogSettings, type OpenLog, openLog } from '../open/open-log.ts';
import { begunIn } from '../open/store-location.ts';
import { Recorder } from '../operations/recorder.ts';
import type { Relay } from '../relay/relay.ts';
import type { RelaySettings } from '../relay/settings.ts';
import { Verifications } from '../verify/verifications.ts';
import type { Logger } from './logger.ts';
import { makeMetrics, registerRelay } from './metrics.ts';
import { prepareStudies } from './prepare-studies.ts';
import { StartProgress } from './start-progress.ts';

export interface ServiceSettings extends LogSettings, Listening {
  readonly studies: readonly ConfiguredStudy[];
  readonly datetimeFormat: DatetimeFormat;
  readonly trustProxy: number | string | undefined;
  /** Serves /metrics on a port of its own. */
  readonly serveMetrics?: ((registry: Registry) => Promise<MetricsServer>) | undefined;
  readonly version: string;
  /** Where the checkpoints are collected. */
  readonly witness: string | undefined;
  /** Publishes the log into Kafka besides. */
  readonly relay: RelaySettings | undefined;
}

export interface Service {
  readonly log: OpenLog;
  readonly address: string;
  /** Of /metrics, if it has one of its own. */
  readonly metricsAddress: string | undefined;
  /** Answers what was accepted, then closes everything. */
  stop(): Promise<void>;
}

/** Resolves when the service is ready. Nothing is left open when it rejects. */
export async function startService(
  settings: ServiceSettings,
  actor: Actor,
  logger: Logger,
): Promise<Service> {
  let notReady = (): string | undefined =>
    `The service is starting and reads its log: ${progress.describe()}`;
  const metrics = makeMetrics({
    lagSeconds: () => log.runner.lagSeconds(),
    studies: () => countStates(log.studies.standings().values()),
  });
  let relay: Relay | undefined;
  let reopen: () => void = () => undefined;
  let begun: string | undefined;
  const log = await openLog(settings, actor, {
    ...metrics.writerHooks,
    onFolded: (stream) => relay?.noticed(stream),
    onBegun: (logName) => {
      begun = begunIn(settings, logName);
    },
    onClockSetBack: (stream, before, now) =>
      logger.warn(
        { stream, before, now },
        'the clock was set back behind the last event of this stream; the order of the log is by revision and is kept (hint: check the time service of this machine)',
      ),
    onHalted: (stream, error) =>
      logger.error({ stream, why: error.message }, 'a stream cannot be read any further'),
    onKeyLost: (error) =>
      logger.error(
        { why: error.message },
        'the signing key was rotated and the new one is not here: no participants are taken until it is (hint: bring the new file; no restart is needed)',
      ),
    onStoreError: (error) =>
      logger.error({ failure: error.failure, why: error.message }, 'the log cannot be followed'),
    onDanger: (stream, danger) => {
      if (danger !== undefined)
        logger.error({ stream, why: danger }, 'records of a stream are in danger: nothing is written to it');
      else {
        logger.info({ stream }, 'the records of a stream are no longer in danger');
        reopen();
      }
    },
    onRolledBack: (why) => logger.error({ why }, 'the log has lost records: nothing is written or signed'),
    onReopened: () => reopen(),
  });
  const progress = new StartProgress(log, logger);
  const recorder = new Recorder({
    operations: log.operations,
    actor,
    version: settings.version,
    onFailure: (fact, by, error) =>
      logger.error({ ...occurrence(fact, by), why: error.message }, unrecorded(error)),
  });
  const verifications = new Verifications(log.verify);
  try {
    const app = httpApp({
      authentication: new Authentication(log.keys),
      studies: log.studies,
      runner: log.runner,
      ledger: log.ledger,
      history: new History({ store: log.store, logId: log.identity.logId }),
      verifications,
      logName: log.identity.logName,
      views: new StudyViews(settings.datetimeFormat),
      recorder,
      limits: new KeyLimits(),
      logger,
      metrics,
      servesMetrics: settings.serveMetrics === undefined,
      notReady: () => notReady(),
      writeRefusal: () => log.gate.refusal(LOG_STREAM, 'write'),
      trustProxy: settings.trustProxy,
      version: settings.version,
    });
    const server = new HttpServer(app, {
      ...settings,
      onConnectionRefused: refusedConnections(metrics, logger),
    });
    const address = await server.listen(settings.host, settings.port);
    if (begun !== undefined) logger.warn(begun);
    let metricsServer: MetricsServer | undefined;
    try {
      metricsServer = await settings.serveMetrics?.(metrics.registry);
      await progress.rebuild();
      const broken = log.runner.halted('log') ?? log.runner.halted('access');
      if (broken) throw broken;
      await log.lastCheckpoints?.expectWritable();
      log.runner.follow();
      await prepareStudies(log, settings.studies, actor, logger);
      await recorder.start();
      if (settings.relay) {
        relay = await relayFor(log, settings.relay, actor, logger);
        publish(log, relay, logger);
        const published = relay;
        registerRelay(metrics.registry, () => published.status());
      }
    } catch (error) {
      await server.drain();
      metricsServer?.close();
      throw error;
    }
    // After a move or a recovery the log goes on, and so does all that waited for it.
    let preparing = Promise.resolve();
    reopen = () => {
      logger.info('the log goes on');
      preparing = preparing
        .then(() => prepareStudies(log, settings.studies, actor, logger))
        .catch((error: Error) =>
          logger.error({ why: error.message }, 'the studies of the file could not be registered'),
        );
      if (relay) publish(log, relay, logger);
    };
    notReady = () => undefined;
    const collectors = startCollectors(log, settings.witness, logger);
    const stop = async () => {
      notReady = () => 'The service is shutting down';
      // It may take long, and its asker is answered 503. All that was accepted besides is done.
      await verifications.stop();
      await preparing;
      await server.drain();
      metricsServer?.close();
      await recorder.stop();
      await relay?.stop();
      for (const collector of collectors) await collector.stop();
      await log.close();
    };
    return { log, address, metricsAddress: metricsServer?.address, stop };
  } catch (error) {
    await log.close();
    throw error;
  }
}

function unrecorded(error: Error): string {
  const what = 'what happened could not be recorded in the stream operations';
  const isMoved = error instanceof DomainError && error.code === 'moved';
  return isMoved ? what : `${what} (hint: make room on the disk, or recover the log)`;
}

/** Who, and what of it a line of the log may say. */
function occurrence({ type, data }: OperationsFact, actor: Actor) {
  const { user } = actor;
  const keyId = 'keyId' in actor ? actor.keyId : undefined;
  return { type, user, keyId, ...data };
}

async function relayFor(log: OpenLog, settings: RelaySettings, actor: Actor, logger: Logger): Promise<Relay> {
  // The Kafka client takes long to load, and most services need none.
  const { makeRelay } = await import('../relay/start.ts');
  return makeRelay(log, settings, actor, logger);
}

/** Whatever becomes of the feed, the service goes on: what is not published lags. */
function publish(log: OpenLog, relay: Relay, logger: Logger): void {
  relay
    .run(log.gate.refusal(LOG_STREAM, 'sign'))
    .catch((error: Error) => logger.error({ why: error.message }, 'the feed has stopped'));
}

function startCollectors(log: OpenLog, witness: string | undefined, logger: Logger): Collector[] {
  const { ledger, lastCheckpoints } = log;
  tellFirstCheckpoints(log, logger);
  void ledger.warmUp();
  const collect = (what: string, write: ConstructorParameters<typeof Collector>[1]) =>
    new Collector(ledger, write, (error) =>
      logger.error({ why: error.message }, `${what} cannot be written; it is tried again every second`),
    );
  return [
    ...(lastCheckpoints
      ? [collect('what was signed last', (checkpoints) => lastCheckpoints.keep(checkpoints))]
      : []),
    ...(witness === undefined ? [] : [collect("the witness's file", appendTo(witness))]),
  ];
}

/** Of the studies without a participant: later ones prove less. */
function tellFirstCheckpoints({ studies, ledger }: OpenLog, logger: Logger): void {
  for (const { stream, registered } of studies.list())
    if (ledger.tree(stream).size === 1 && ledger.maySign(stream))
      logger.info(
        { study: registered.configuration.name, checkpoint: ledger.checkpoint(stream, 1).note },
        'first checkpoint of a study: archive it outside this machine before the first participant',
      );
}
