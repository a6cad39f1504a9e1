/** Registers the studies of the file in the log, when a service starts and when the log is reopened. */
import type { Actor } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import { DomainError } from '../base/errors.ts';
import { type Comparison, compare, describeComparison } from '../core/configuration/differences.ts';
import { suspendWhileDiffering } from '../core/configuration/file-and-log.ts';
import { formatFinding } from '../core/configuration/finding.ts';
import { refuseNewStudies } from '../core/configuration/studies-file.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import { LOG_STREAM } from '../core/log/log-stream.ts';
import { currentId } from '../core/model/participants.ts';
import { participants } from '../core/study/fold.ts';
import type { Logger } from './monitoring/logger.ts';
import type { OpenLog } from './open/open-log.ts';

/** Stops early if the log was rolled back or moved, even just now: it takes no records. Called again when it is reopened. */
export async function prepareStudies(
  log: OpenLog,
  configured: readonly ConfiguredStudy[],
  actor: Actor,
  logger: Logger,
): Promise<void> {
  try {
    if (!log.gate.refusal(LOG_STREAM, 'write')) refuseUnfit(log, configured, logger);
    await registerStudies(log, configured, actor, logger);
    warnOfSharedIds(log, logger);
    // After an interrupted recovery, or for studies that were lost completely and are registered again.
    for (const study of await log.studies.renewGenerators(actor))
      logger.warn({ study }, 'the log was recovered: the generator of this study starts afresh');
  } catch (error) {
    if (!(error instanceof DomainError && log.gate.refusal(LOG_STREAM, 'write'))) throw error;
  }
  const refusal = log.gate.refusal(LOG_STREAM, 'write');
  if (refusal) logger.error({ why: refusal.message }, 'this log takes no participants');
}

/** @throws StudiesFileError for settings that a new study cannot have */
function refuseUnfit({ studies }: OpenLog, configured: readonly ConfiguredStudy[], logger: Logger): void {
  const registered = studies.list().map((study) => study.registered);
  for (const warning of refuseNewStudies(configured, (name) => studies.isNew(name), registered))
    logger.warn(formatFinding(warning));
}

/** A person who looks up a participant by id could take the record of a rehearsal for the real one. */
function warnOfSharedIds({ studies, runner }: OpenLog, logger: Logger): void {
  const [tests, live] = (['test', 'live'] as const).map((mode) =>
    studies.list().filter(({ registered }) => registered.configuration.mode === mode),
  );
  // Most logs have participants only in live studies or only in tests, and listing the ids of all tests takes a while.
  if (live?.every(({ stream }) => runner.state(participants, stream).inOrder.length === 0)) return;
  const ids = new Map(
    tests?.flatMap(({ stream, registered }) =>
      idsIn(runner, stream).map((id) => [id, registered.configuration.name]),
    ),
  );
  if (ids.size === 0) return;
  for (const { stream, registered } of live ?? []) {
    const shared = idsIn(runner, stream).filter((id) => ids.has(id));
    const [first] = shared;
    if (first !== undefined)
      logger.warn(
        { live: registered.configuration.name, test: ids.get(first), participants: shared.length },
        'a live study and a test have participants with the same ids (hint: use other ids in tests)',
      );
  }
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
    const { configuration, parameters, seed } = wanted;
    const { name } = configuration;
    // This was reported when the study was read, and must not affect the other studies.
    const stream = studies.streamOf(name);
    if (runner.halted(stream) || (!studies.find(name) && gate.danger(stream))) continue;
    const outcome = studies.find(name)
      ? 'already-registered'
      : await studies.register(configuration, seed, actor, parameters);
    const study = studies.find(name);
    if (!study) throw new Error('a study that was registered is not in the projection');
    if (outcome === 'registered') {
      const { studyId, seedSource } = study.registered;
      logger.info({ study: name, studyId, seedSource, ...registration(configuration) }, 'study registered');
      continue;
    }
    const comparison = suspendWhileDiffering(studies, wanted);
    if (comparison) logComparison(logger, name, comparison);
  }
}

/**
 * Says how the studies file compares with a study whenever it is amended, by whichever process.
 * @param log with its studies prepared
 */
export function logAfterAmendments(
  { studies, runner }: OpenLog,
  configured: readonly ConfiguredStudy[],
  logger: Logger,
): void {
  for (const file of configured) {
    const { name } = file.configuration;
    const stream = studies.streamOf(name);
    runner.listen(stream, ({ type }) => {
      const study = studies.find(name);
      if (!study || type !== 'StudyAmended') return;
      logger.info({ study: name, amendment: study.design.amendment }, 'study amended');
      logComparison(logger, name, compare(study.registered, studies.designs(stream), file));
    });
  }
}

function logComparison(logger: Logger, study: string, comparison: Comparison): void {
  const differences = describeComparison(comparison, { secrets: 'withhold' });
  if (comparison.result === 'differs')
    logger.error(
      { study, differences },
      'study suspended: the studies file differs from the design in force (hint: urn studies check shows the differences)',
    );
  if (comparison.result === 'behind')
    logger.warn(
      { study, differences },
      'the studies file describes an earlier design of this study (hint: bring it up to date; urn studies check shows what is missing)',
    );
}

/** What was registered for good. The service log never names an arm. */
function registration({ name: _, treatments, ...configuration }: StudyConfiguration) {
  return { ...configuration, treatments: treatments.length };
}

/** The ids in use. */
function idsIn(runner: OpenLog['runner'], stream: string): string[] {
  return runner.state(participants, stream).inOrder.map(currentId);
}
