/**
 * The running service: it listens, reads its log, registers the studies of its file, answers, and drains when stopped.
 *
 * `startService` is the whole start. `StartingService` has its steps, in order, and what a stop undoes.
 */
import type { Registry } from 'prom-client';
import type { Actor } from '../../events/record.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import { LOG_STREAM } from '../core/log/log-stream.ts';
import { Bundles } from '../evidence/bundle/bundles.ts';
import { History } from '../evidence/history/history.ts';
import { Verifications } from '../evidence/verify/verifications.ts';
import { ExpectedBands } from '../statistics/expected/expected-bands.ts';
import { isForWantOfRoom } from '../store/event-store.ts';
import { httpApp, waitingApp } from './http/app.ts';
import { Authentication, SessionCookies } from './http/request/credentials.ts';
import { InProgress } from './http/request/in-progress.ts';
import { type DatetimeFormat, StudyViews } from './http/request/study-view.ts';
import { ChangeStreams } from './http/routes/changes.ts';
import { countStates } from './http/routes/probes.ts';
import { HttpServer, type Listening, type MetricsServer, refusedConnections } from './http/server.ts';
import { type CheckpointKeeper, keepCheckpoints } from './keep-checkpoints.ts';
import {
  logForgotten,
  logHooks,
  logLateRecords,
  logPendingFailed,
  logUnrecorded,
  patienceOf,
  StartProgress,
  watchLists,
} from './log-hooks.ts';
import type { Logger } from './monitoring/logger.ts';
import { type Metrics, makeMetrics } from './monitoring/metrics.ts';
import { type LogSettings, type OpenLog, openLog } from './open/open-log.ts';
import { patiently } from './open/open-store.ts';
import { begunIn, isInMemory, type Patience, sessionKeyFile } from './open/store-location.ts';
import { Recorder } from './operations/recorder.ts';
import { logAfterAmendments, prepareStudies } from './prepare-studies.ts';
import type { Relay } from './relay/relay.ts';
import { registerRelay } from './relay/relay-metrics.ts';
import type { RelaySettings } from './relay/settings.ts';
import { type SessionSecret, sessionKeyInFile, sessionKeyInMemory } from './session/session-key.ts';
import { Sessions } from './session/sessions.ts';

export interface ServiceSettings extends LogSettings, Listening {
  readonly studies: readonly ConfiguredStudy[];
  readonly datetimeFormat: DatetimeFormat;
  readonly trustProxy: number | string | undefined;
  /** The address of the service in browsers, if their requests do not show it: `https://…`. */
  readonly publicUrl?: string | undefined;
  /** File of the session key; undefined: `session-key` in the data folder. */
  readonly sessionKey?: string | undefined;
  /** Serves /metrics on a port of its own. */
  readonly serveMetrics?: ((registry: Registry) => Promise<MetricsServer>) | undefined;
  readonly version: string;
  /** The file in which checkpoints are kept for the witness. */
  readonly witness: string | undefined;
  /** If given, the service also publishes the log to Kafka. */
  readonly relay: RelaySettings | undefined;
}

export interface Service {
  readonly log: OpenLog;
  readonly address: string;
  /** The address of /metrics, if it has its own. */
  readonly metricsAddress: string | undefined;
  /** Answers the requests that were accepted, then closes everything. */
  stop(): Promise<void>;
}

/** Resolves when the service is ready. Nothing is left open when it rejects. */
export async function startService(
  settings: ServiceSettings,
  actor: Actor,
  logger: Logger,
): Promise<Service> {
  let reopen: () => void = () => undefined;
  let begun: string | undefined;
  const relay = new ServiceRelay(settings.relay, logger);
  const metrics = makeMetrics({
    lagSeconds: () => log.runner.lagSeconds(),
    studies: () => countStates(log.studies.recruitments().values()),
  });
  const entrance = new Entrance(settings, logger, metrics);
  const opening = openLog({ ...settings, patience: entrance.patience }, actor, {
    ...metrics.writerHooks,
    ...logHooks(logger, () => reopen(), metrics),
    onFolded: (stream) => relay.folded(stream),
    onBegun: (logName) => {
      begun = begunIn(settings, logName);
    },
    onReopened: () => reopen(),
  });
  const log = await Promise.race([opening, entrance.failed]).finally(() => entrance.close());
  try {
    const service = new StartingService({ settings, actor, logger, log, metrics, relay, entrance });
    const address = await service.listen();
    if (begun !== undefined) logger.warn(begun);
    await service.readLog();
    reopen = () => service.reopen();
    return service.ready(address);
  } catch (error) {
    await log.close();
    throw error;
  }
}

/** How often the service sees whether there is room for what a full disk kept it from recording, in ms. */
const ROOM_LOOK_MS = 1000;

interface ServiceParts {
  readonly settings: ServiceSettings;
  readonly actor: Actor;
  readonly logger: Logger;
  readonly log: OpenLog;
  readonly metrics: Metrics;
  readonly relay: ServiceRelay;
  readonly entrance: Entrance;
}

const WAITING = 'The service is starting and waits for its store, which does not answer';

/** Waits for the store as long as it takes. Until the log is open, which the service itself needs, it says so over HTTP. */
class Entrance {
  readonly patience: Patience;
  isWaiting = false;
  /** Rejects when it cannot listen. */
  readonly failed: Promise<never>;
  #server: HttpServer | undefined;
  #isClosed = false;

  constructor(settings: ServiceSettings, logger: Logger, metrics: Metrics) {
    let fail: (error: Error) => void;
    this.failed = new Promise((_, reject) => {
      fail = reject;
    });
    this.patience = patienceOf(logger, (isWaiting) => {
      this.isWaiting = isWaiting;
      if (this.#server || this.#isClosed) return;
      this.#server = new HttpServer(waitingApp({ ...settings, logger, metrics }, WAITING), settings);
      this.#server.listen(settings.host, settings.port).catch(fail);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#server?.close();
  }
}

/** The steps of a start, in order: `listen`, `readLog`, `ready`. Until the last one, /readyz shows the progress. */
class StartingService {
  readonly #parts: ServiceParts;
  readonly #progress: StartProgress;
  readonly #recorder: Recorder;
  readonly #verifications: Verifications;
  readonly #bundles: Bundles;
  readonly #history: History;
  readonly #expectedBands: ExpectedBands;
  readonly #changes = new ChangeStreams();
  readonly #server: HttpServer;
  #metricsServer: MetricsServer | undefined;
  #notReady: (() => string) | undefined;
  #waitingForRoom: NodeJS.Timeout | undefined;
  #watchingLists: NodeJS.Timeout | undefined;
  /** Resolves when the studies are prepared. They are never prepared twice at the same time. */
  #preparing = Promise.resolve();

  constructor(parts: ServiceParts) {
    const { settings, actor, logger, log, metrics, entrance } = parts;
    this.#parts = parts;
    this.#progress = new StartProgress(log, logger);
    this.#notReady = () =>
      entrance.isWaiting
        ? WAITING
        : `The service is starting and reads its log: ${this.#progress.describe()}`;
    this.#recorder = new Recorder({
      operations: log.operations,
      actor,
      version: settings.version,
      onFailure: logUnrecorded(logger),
    });
    this.#verifications = new Verifications(log.verify);
    const { store, identity, gate, lastCheckpoints } = log;
    this.#history = new History({ store, logId: identity.logId });
    this.#expectedBands = new ExpectedBands(this.#history, logEndOfBands(logger));
    this.#bundles = new Bundles({ store, identity, gate, lastCheckpoints, version: settings.version });
    const limits = new InProgress();
    this.#server = new HttpServer(this.#app(limits), {
      ...settings,
      onConnection: limits.turns.connectionArrived,
      onConnectionRefused: refusedConnections(metrics, logger),
    });
  }

  #app(limits: InProgress) {
    const { settings, logger, log, metrics } = this.#parts;
    const { studies, codeBreaks, runner, ledger, keys } = log;
    const { logId } = log.identity;
    const { publicUrl } = settings;
    const sessions = new Sessions({
      ...{ logId, runner, operations: log.operations },
      secret: sessionSecret(settings, logger),
      onFailure: logUnrecorded(logger),
    });
    return httpApp({
      ...{ studies, codeBreaks, runner, ledger, logger, metrics, sessions },
      authentication: new Authentication(keys),
      sessionCookies: new SessionCookies({ sessions, keys, logId, publicUrl }),
      history: this.#history,
      verifications: this.#verifications,
      bundles: this.#bundles,
      expectedBands: this.#expectedBands,
      logName: log.identity.logName,
      views: new StudyViews(settings.datetimeFormat),
      recorder: this.#recorder,
      changes: this.#changes,
      limits,
      servesMetrics: settings.serveMetrics === undefined,
      notReady: () => this.#notReady?.(),
      writeRefusal: () => log.gate.refusal(LOG_STREAM, 'write'),
      noRoom: () => log.store.noRoom?.(),
      trustProxy: settings.trustProxy,
      version: settings.version,
    });
  }

  /** From now on requests are answered, most of them with 503. @returns the address */
  listen(): Promise<string> {
    const { host, port } = this.#parts.settings;
    return this.#server.listen(host, port);
  }

  async readLog(): Promise<void> {
    const { settings, actor, logger, log, metrics, relay } = this.#parts;
    try {
      this.#metricsServer = await settings.serveMetrics?.(metrics.registry);
      await this.#progress.rebuild();
      const broken = log.runner.halted('log') ?? log.runner.halted('access');
      if (broken) throw broken;
      await log.lastCheckpoints?.expectWritable();
      log.runner.follow();
      await patiently(this.#parts.entrance.patience, () => this.#prepareStudies());
      logAfterAmendments(log, settings.studies, logger);
      await this.#recorder.start();
      await relay.start(log, actor, metrics.registry);
    } catch (error) {
      await this.#server.drain();
      this.#metricsServer?.close();
      throw error;
    }
  }

  ready(address: string): Service {
    const { settings, logger, log } = this.#parts;
    this.#notReady = undefined;
    const keepers = keepCheckpoints(log, settings.witness, logger);
    this.#watchingLists = watchLists(log, logger);
    log.codeBreaks.start(logLateRecords(logger), logPendingFailed(logger));
    return {
      log,
      address,
      metricsAddress: this.#metricsServer?.address,
      stop: () => this.#stop(keepers),
    };
  }

  /** After a move or a recovery the log takes records again, and everything that waited for it continues. */
  reopen(): void {
    const { log, logger, relay } = this.#parts;
    clearInterval(this.#waitingForRoom);
    logger.info('the log takes records again');
    this.#expectedBands.forget();
    this.#preparing = this.#preparing
      .then(() => this.#prepareStudies())
      .catch((error: Error) =>
        logger.error({ why: error.message }, 'the studies of the file could not be registered'),
      );
    relay.publish(log);
  }

  /** On a full disk the service runs all the same, for reading and for emergencies. */
  async #prepareStudies(): Promise<void> {
    const { settings, actor, logger, log } = this.#parts;
    clearInterval(this.#waitingForRoom);
    try {
      await prepareStudies(log, settings.studies, actor, logger);
    } catch (error) {
      if (!isForWantOfRoom(error)) throw error;
      logger.error(
        { why: (error as Error).message },
        'the studies of the file could not be registered: they will be when there is room on the disk',
      );
      this.#waitingForRoom = setInterval(() => {
        if (this.#notReady === undefined && log.store.noRoom?.() === undefined) this.reopen();
      }, ROOM_LOOK_MS).unref();
    }
  }

  /** Completes every accepted request except a verification and the making of a bundle, which may take long: 503. */
  async #stop(keepers: readonly CheckpointKeeper[]): Promise<void> {
    this.#notReady = () => 'The service is shutting down';
    // First, because the streams would hold up the wait for answers.
    this.#changes.close();
    await this.#verifications.stop();
    await this.#bundles.stop();
    this.#expectedBands.stop();
    await this.#preparing;
    await this.#server.drain();
    this.#metricsServer?.close();
    clearInterval(this.#waitingForRoom);
    clearInterval(this.#watchingLists);
    logForgotten(this.#parts.logger, await this.#parts.log.codeBreaks.stop());
    await this.#recorder.stop();
    await this.#parts.relay.stop();
    for (const keeper of keepers) await keeper.stop();
    await this.#parts.log.close();
  }
}

/** Logs that the process of the expected bands ended by itself. */
function logEndOfBands(logger: Logger): (how: string) => void {
  return (how) =>
    logger.warn(
      { how },
      'the process that works out expected bands has ended: the next request begins another',
    );
}

/** In memory for a log in memory, unless the settings name a file. */
function sessionSecret(settings: ServiceSettings, logger: Logger): SessionSecret {
  if (isInMemory(settings) && settings.sessionKey === undefined) return sessionKeyInMemory();
  return sessionKeyInFile(sessionKeyFile(settings.data, settings.sessionKey), ({ message }) =>
    logger.error(
      { why: message },
      'the session key has changed and cannot be read: the one before stays in use',
    ),
  );
}

/** The relay inside a service, if there is one. If it fails, the service continues without it and the feed lags. */
class ServiceRelay {
  readonly #settings: RelaySettings | undefined;
  readonly #logger: Logger;
  #relay: Relay | undefined;

  constructor(settings: RelaySettings | undefined, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  async start(log: OpenLog, actor: Actor, metrics: Registry): Promise<void> {
    if (!this.#settings) return;
    // The Kafka client takes long to load, and most services do not need it.
    const { makeRelay } = await import('./relay/relay.ts');
    const relay = await makeRelay(log, this.#settings, actor, this.#logger);
    this.#relay = relay;
    registerRelay(metrics, () => relay.status());
    this.publish(log);
  }

  /** Starts publishing. Called again after the log was reopened. */
  publish(log: OpenLog): void {
    this.#relay
      ?.run(log.gate.refusal(LOG_STREAM, 'sign'))
      .catch((error: Error) => this.#logger.error({ why: error.message }, 'the feed has stopped'));
  }

  /** Must be called when a record of the stream was folded. */
  folded(stream: string): void {
    this.#relay?.folded(stream);
  }

  async stop(): Promise<void> {
    await this.#relay?.stop();
  }
}
