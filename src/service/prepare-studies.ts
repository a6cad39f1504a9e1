/** Registers the studies of the file in the log. This happens at the start of a service and when the log is reopened. */
import type { Actor } from '../../events/record.ts';
import { DomainError } from '../base/errors.ts';
import { refuseNewStudies } from '../configuration/new-studies.ts';
import type { ConfiguredStudy } from '../configuration/studies-file.ts';
import { suspendIfDiffering } from '../configuration/suspend.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { Logger } from './logger.ts';

/** Stops early if the log was rolled back or moved, even just now: it takes no records. Called again when it is reopened. */
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
    // After an interrupted recovery, or for studies that were lost completely and are registered again.
    for (const study of await log.studies.renewGenerators(actor))
      logger.warn({ study }, 'the log was recovered: the generator of this study starts afresh');
  } catch (error) {
    if (!(error instanceof DomainError && log.gate.refusal(LOG_STREAM, 'write'))) throw error;
  }
  const refusal = log.gate.refusal(LOG_STREAM, 'write');
  if (refusal) logger.error({ why: refusal.message }, 'this log takes no participants');
}

/** Registers new studies. A study that differs between the file and the log takes no new participants in this process. */
async function registerStudies(
  { studies, runner, gate }: OpenLog,
  configured: readonly ConfiguredStudy[],
  actor: Actor,
  logger: Logger,
): Promise<void> {
  // Registered studies come first: they must be compared with the file even if the log was moved and takes no new ones.
  const isNew = ({ configuration }: ConfiguredStudy) => studies.isNew(configuration.name);
  for (const wanted of configured.toSorted((a, b) => Number(isNew(a)) - Number(isNew(b)))) {
    const { configuration, seed } = wanted;
    const { name, mode } = configuration;
    // This was reported when the study was read, and must not affect the other studies.
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
        'study suspended: the studies file differs from what was registered',
      );
  }
}
