/** The studies of the file and the log, made ready when a service starts, and when a log goes on. */
import type { Actor } from '../../events/record.ts';
import { DomainError } from '../base/errors.ts';
import { refuseNewStudies } from '../configuration/new-studies.ts';
import type { ConfiguredStudy } from '../configuration/studies-file.ts';
import { suspendIfDiffering } from '../configuration/suspend.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { Logger } from './logger.ts';

/** A log that was rolled back or moved, be it just now, takes none of this. It is called again when the log goes on. */
export async function prepareStudies(
  log: OpenLog,
  configured: readonly ConfiguredStudy[],
  actor: Actor,
  logger: Logger,
): Promise<void> {
  try {
    if (!log.gate.refusal(LOG_STREAM, 'write'))
      refuseNewStudies(configured, (name) => log.studies.isNew(name));
    await registerStudies(log, configured, actor, logger);
    // Of a recovery that broke off, or of studies that were lost as a whole and are registered again.
    for (const study of await log.studies.renewGenerators(actor))
      logger.warn({ study }, 'the log was recovered: the generator of this study begins anew');
  } catch (error) {
    if (!(error instanceof DomainError && log.gate.refusal(LOG_STREAM, 'write'))) throw error;
  }
  const refusal = log.gate.refusal(LOG_STREAM, 'write');
  if (refusal) logger.error({ why: refusal.message }, 'this log takes no participants');
}

/** Registers what is new; a study that the file describes otherwise than the log takes no new participants here. */
async function registerStudies(
  { studies, runner, gate }: OpenLog,
  configured: readonly ConfiguredStudy[],
  actor: Actor,
  logger: Logger,
): Promise<void> {
  // First those that are there already: what their file says otherwise holds also when a log that was moved is opened again.
  const isNew = ({ configuration }: ConfiguredStudy) => studies.isNew(configuration.name);
  for (const wanted of configured.toSorted((a, b) => Number(isNew(a)) - Number(isNew(b)))) {
    const { configuration, seed } = wanted;
    const { name, mode } = configuration;
    // Reported when it was read; the other studies do not suffer.
    const stream = studies.streamOf(name);
    if (runner.halted(stream) || (!studies.find(name) && gate.danger(stream))) continue;
    const outcome = studies.find(name)
      ? 'already-registered'
      : await studies.register(configuration, seed, actor);
    const study = studies.find(name);
    if (!study) throw new Error('a study that was registered is not in the projection');
    if (outcome === 'registered') {
      const { studyId } = study.registered;
      logger.info({ study: name, mode, studyId }, 'study registered');
      continue;
    }
    const differences = suspendIfDiffering(studies, wanted);
    if (differences)
      logger.error(
        { study: name, differences },
        'study suspended: its file differs from what was registered',
      );
  }
}
