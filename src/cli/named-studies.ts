/**
 * What the commands about studies share: opens the log with everything folded, suspends what `urn serve` would, finds a study by
 * its name, and sums it up in a few words.
 */
import { counted } from '../base/wording.ts';
import { suspendWhileDiffering } from '../core/configuration/file-and-log.ts';
import { LOG_STREAM } from '../core/log/log-stream.ts';
import { methodOf } from '../core/model/method-of.ts';
import type { Model } from '../core/model/model.ts';
import { type HeadCount, headCount } from '../core/model/participants.ts';
import { participants, studyState } from '../core/study/fold.ts';
import type { Recruitment, Studies, Study } from '../core/study/studies.ts';
import type { LogHooks, OpenLog } from '../service/open/open-log.ts';
import { placeOf } from '../service/open/store-location.ts';
import { recordPendingReveals, withLog } from './open-log.ts';
import { type LogOptions, logSettings, option, UsageError, unknownStudy } from './options.ts';
import { note, progress } from './output.ts';
import { DEFAULT_STUDIES_FILE, readStudiesFile } from './studies-file.ts';

/** Opens the log with everything folded. @throws NoLogError */
export async function withStudies<T>(options: LogOptions, use: (log: OpenLog) => Promise<T>): Promise<T> {
  const shown = progress('records read');
  const hooks: LogHooks = {
    onHalted: (stream, error) =>
      note(`warning: stream ${stream} cannot be read any further: ${error.message}`),
    // The state of a study shows its own danger.
    onDanger: (stream, danger) => {
      if (danger !== undefined && !stream.startsWith('study-')) note(`warning: ${danger}`);
    },
  };
  const used = async (log: OpenLog) => {
    await log.rebuild(shown.show);
    shown.end();
    const warning = log.gate.refusal(LOG_STREAM, 'write');
    if (warning) note(`warning: ${warning.message}`);
    await recordPendingReveals(log);
    return use(log);
  };
  return withLog(options, used, hooks);
}

/** `withStudies` for a person in a hurry, who may be in any folder: says first which log it is. @throws NoLogError */
export function withNamedLog<T>(options: LogOptions, use: (log: OpenLog) => Promise<T>): Promise<T> {
  note(`log: ${placeOf(logSettings(options))}`);
  return withStudies(options, use);
}

/** For list and show, which say whether `urn serve` with the same file takes participants for a study. */
export function studiesOption() {
  return option(
    '--studies <file>',
    `the studies file of the service: a study that differs from it is suspended (default: ${DEFAULT_STUDIES_FILE}, if it exists)`,
  );
}

/**
 * Suspends in this process what `urn serve` with the same file would. A default file that cannot be read only causes a
 * warning: it may not be the service's.
 */
export async function suspendAsServed(log: OpenLog, studiesFile: string | undefined): Promise<void> {
  try {
    for (const configured of (await readStudiesFile(studiesFile)).studies)
      suspendWhileDiffering(log.studies, configured);
  } catch (error) {
    if (studiesFile !== undefined || !(error instanceof UsageError)) throw error;
    note(`warning: cannot tell whether a study is suspended: ${error.message}`);
  }
}

/** @throws UsageError if there is no such study */
export function namedStudy(studies: Studies, name: string): Study {
  const study = studies.find(name);
  if (!study) throw unknownStudy(name);
  return study;
}

/** Everything that decisions depend on, with what is sealed. */
export function registeredState({ runner }: OpenLog, { stream }: Study): Model {
  const state = runner.state(studyState, stream);
  if (state.status === 'unregistered') throw new Error('a study without a registration');
  return state;
}

/** Whether later allocations depend on who is counted. */
export function drawsFromCounts(log: OpenLog, study: Study): boolean {
  return methodOf(registeredState(log, study).methodDesign).drawsFromCounts;
}

/** @param heads of the moment that is shown; by default, of now */
export function summary(
  log: OpenLog,
  study: Study,
  heads: HeadCount = headCount(log.runner.state(participants, study.stream).inOrder),
) {
  const { configuration } = study.registered;
  return {
    name: configuration.name,
    mode: configuration.mode,
    ...log.studies.recruitment(study.stream),
    participants: heads.enrolled,
    filled: heads.filled,
    target: study.design.target,
    revision: study.revision,
  };
}

/** Against the target count those who fill a place of it, as everywhere. */
export function enrolledText({
  participants: all,
  filled,
  target,
}: Pick<ReturnType<typeof summary>, 'participants' | 'filled' | 'target'>): string {
  return target === undefined
    ? counted(all, 'participant')
    : `${filled} of ${counted(target, 'participant')}`;
}

/** A study in a few words, to be sure that it is the right one. */
export function studyText(log: OpenLog, study: Study): string {
  const found = summary(log, study);
  return `${found.name} (${found.mode}, ${enrolledText(found)})`;
}

/** Why a study takes no participants, in one line; undefined if it is open. */
export function whyClosed({ state, reason, since }: Recruitment): string | undefined {
  if (state === 'open') return undefined;
  return [since === undefined ? state : `${state} since ${since}`, reason].join(': ');
}
