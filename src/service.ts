/** The running service: listens, reads its log, registers the studies of its file, answers, and drains when told to. */
import type { Actor } from '../events/record.ts';
import { type LogSettings, type OpenLog, openLog } from './app.ts';
import { History } from './audit/history.ts';
import { configurationDifferences, describeDifferences } from './configuration/differences.ts';
import type { ConfiguredStudy } from './configuration/studies-file.ts';
import { httpApp } from './http/app.ts';
import { Authentication } from './http/credentials.ts';
import { HttpServer, type Listening } from './http/server.ts';
import { StudyViews } from './http/study-request.ts';
import type { DatetimeFormat } from './http/study-view.ts';
import { Witness } from './ledger/witness.ts';
import type { Logger } from './logger.ts';
import { makeMetrics } from './metrics.ts';

export interface ServiceSettings extends LogSettings, Listening {
  readonly studies: readonly ConfiguredStudy[];
  readonly datetimeFormat: DatetimeFormat;
  readonly trustProxy: number | string | undefined;
  readonly version: string;
  /** Where the checkpoints are collected. */
  readonly witness: string | undefined;
}

export interface Service {
  readonly log: OpenLog;
  readonly address: string;
  /** Answers what was accepted, then closes everything. */
  stop(): Promise<void>;
}

/** Resolves when the service is ready. Nothing is left open when it rejects. */
export async function startService(
  settings: ServiceSettings,
  actor: Actor,
  logger: Logger,
  onProgress?: (records: number) => void,
): Promise<Service> {
  let notReady: string | undefined = 'The service is starting and reads its log';
  const metrics = makeMetrics(() => log.runner.lagSeconds());
  const log = await openLog(settings, actor, {
    ...metrics.writerHooks,
    onClockSetBack: (stream, before, now) =>
      logger.warn(
        { stream, before, now },
        'the clock was set back behind the last event of this stream; the order of the log is by revision and is kept (hint: check the time service of this machine)',
      ),
    onHalted: (stream, error) =>
      logger.error({ stream, why: error.message }, 'a stream cannot be read any further'),
    onStoreError: (error) =>
      logger.error({ failure: error.failure, why: error.message }, 'the log cannot be followed'),
  });
  try {
    const app = httpApp({
      authentication: new Authentication(log.keys),
      studies: log.studies,
      runner: log.runner,
      ledger: log.ledger,
      history: new History({ store: log.store, logId: log.identity.logId }),
      views: new StudyViews(settings.datetimeFormat),
      logger,
      metrics,
      notReady: () => notReady,
      trustProxy: settings.trustProxy,
      version: settings.version,
    });
    const server = new HttpServer(app, settings.tls);
    const address = await server.listen(settings.host, settings.port);
    try {
      await log.rebuild(onProgress);
      const broken = log.runner.halted('log') ?? log.runner.halted('access');
      if (broken) throw broken;
      log.runner.follow();
      await registerStudies(log, settings.studies, actor, logger);
    } catch (error) {
      await server.drain();
      throw error;
    }
    notReady = undefined;
    void log.ledger.warmUp();
    const witness =
      settings.witness === undefined
        ? undefined
        : new Witness(settings.witness, log.ledger, (error) =>
            logger.error({ why: error.message }, 'the file of checkpoints cannot be written'),
          );
    const stop = async () => {
      notReady = 'The service is shutting down';
      await server.drain();
      await witness?.stop();
      await log.close();
    };
    return { log, address, stop };
  } catch (error) {
    await log.close();
    throw error;
  }
}

/** Registers what is new; a study that the file describes otherwise than the log takes no new participants here. */
async function registerStudies(
  { studies, runner, ledger }: OpenLog,
  configured: readonly ConfiguredStudy[],
  actor: Actor,
  logger: Logger,
): Promise<void> {
  for (const { configuration, seed } of configured) {
    const { name, mode } = configuration;
    // Reported when it was read; the other studies do not suffer.
    if (runner.halted(studies.streamOf(name))) continue;
    const outcome = await studies.register(configuration, seed, actor);
    const study = studies.find(name);
    if (!study) throw new Error('a study that was registered is not in the projection');
    const differences = configurationDifferences(study.registered, { configuration, seed });
    if (outcome === 'registered') {
      const { studyId } = study.registered;
      const firstCheckpoint = ledger.checkpoint(study.stream, 1).note;
      logger.info({ study: name, mode, studyId, firstCheckpoint }, 'study registered');
    } else if (differences.length > 0) {
      studies.suspend(study.stream);
      const lines = describeDifferences(differences, { secrets: 'withhold' });
      logger.error(
        { study: name, differences: lines },
        'study suspended: its file differs from what was registered',
      );
    }
  }
}
