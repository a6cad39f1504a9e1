/** What the commands about studies share: the log with everything folded, and a study in a few words. */
import { participants } from '../../projections/participants.ts';
import { type OpenLog, openLog } from '../app.ts';
import { LOG_STREAM } from '../log/log-writer.ts';
import { logExists } from '../stores.ts';
import type { Study } from '../study/studies.ts';
import { cliActor, type LogOptions, logSettings } from './options.ts';
import { note, progress } from './output.ts';

export function summary(log: OpenLog, study: Study) {
  const { configuration, paused } = study.registered;
  return {
    name: configuration.name,
    mode: configuration.mode,
    state: log.runner.halted(study.stream) ? 'UNREADABLE' : paused ? 'paused' : 'open',
    participants: log.runner.state(participants, study.stream).inOrder.length,
    target: configuration.targetEnrollment,
    revision: study.revision,
  };
}

export function enrolled(count: number, target: number | undefined): string {
  return target === undefined ? `${count} participants` : `${count} of ${target} participants`;
}

/** Opens the log with everything folded; undefined when there is none, since reading should not begin one. */
export async function withStudies(
  options: LogOptions,
  use: (log: OpenLog | undefined) => Promise<void>,
): Promise<void> {
  const settings = logSettings(options);
  if (!(await logExists(settings))) return use(undefined);
  const shown = progress('records read');
  const log = await openLog(settings, cliActor(), {
    onHalted: (stream, error) =>
      note(`warning: stream ${stream} cannot be read any further: ${error.message}`),
  });
  try {
    await log.rebuild(shown.show);
    shown.end();
    const warning = log.gate.refusal(LOG_STREAM, 'write');
    if (warning) note(`warning: ${warning.message}`);
    await use(log);
  } finally {
    await log.close();
  }
}
