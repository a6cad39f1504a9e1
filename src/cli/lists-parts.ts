/** What the commands about lists share. */
import { counted } from '../base/wording.ts';
import type { Model } from '../core/model/model.ts';
import type { StudyOutcome } from '../core/model/outcomes.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { refusalOf } from './grounds.ts';
import { type LogOptions, UsageError } from './options.ts';
import { registeredState } from './studies-log.ts';

export interface ListOptions extends LogOptions {
  readonly study: string;
  readonly json?: boolean;
}

export interface ListWriteOptions extends ListOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export const SKIP_OWED =
  'nobody is randomized until it is said which entries were used by participants whom the log does not have (hint: urn lists skip)';

/** @throws UsageError unless the study follows a list */
export function listedState(log: OpenLog, study: Study): Model {
  const state = registeredState(log, study);
  if (state.methodDesign.method !== 'list')
    throw new UsageError(
      `${study.design.name} follows no list: it draws its allocations itself (hint: a study with a list is registered with method: {name: list, by: [...]})`,
    );
  return state;
}

/** @throws UsageError unless the list, or the skip, is taken */
export function refuseUnlessTaken(study: string, outcome: StudyOutcome): void {
  if (outcome.type === 'list-registered' || outcome.type === 'entries-skipped') return;
  if (outcome.type === 'stale' && outcome.field !== undefined)
    throw new UsageError(
      `somebody else is registering entries of ${study}: ${outcome.why} (hint: run it again)`,
    );
  if (outcome.type === 'stale') throw new UsageError(`${outcome.why}: nothing was recorded`);
  if (outcome.type === 'impossible' && !outcome.field.startsWith('approvals'))
    throw new UsageError(`nothing more was recorded: ${outcome.why}`);
  throw refusalOf(outcome, { study }) ?? new Error(`unexpected outcome ${outcome.type}`);
}

export function entriesText(count: number): string {
  return counted(count, 'entry', 'entries');
}
