/** urn lists skip: passes over entries that participants have whom the log lacks. */
import { counted, plural } from '../base/counted.ts';
import { freeTextProblem } from '../base/free-text.ts';
import { quote } from '../base/text.ts';
import type { Model } from '../core/model/model.ts';
import type { SkipEntries } from '../core/study/commands.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { mayChange } from './confirm.ts';
import { strataOf } from './list-strata.ts';
import { entriesText, type ListWriteOptions, listedState, refuseUnlessTaken } from './lists-parts.ts';
import { cliActor, namedStudy, UsageError } from './options.ts';
import { note, result } from './output.ts';
import { studyText, withStudies } from './studies-log.ts';

export interface SkipOptions extends ListWriteOptions {
  readonly used?: readonly string[];
  readonly none?: boolean;
  readonly reason: string;
}

export async function skipEntries(options: SkipOptions): Promise<void> {
  const { study: name, used = [], none, reason, dryRun, json } = options;
  const unfit = freeTextProblem(reason, 1);
  if (unfit !== undefined) throw new UsageError(`--reason ${unfit}`);
  if (!none && used.length === 0)
    throw new UsageError('say which entries were used: --used for each stratum, or --none');
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const skipped = skippedIn(used, listedState(log, study));
    const command: SkipEntries = { type: 'skip-entries', reason, skipped };
    refuseUnlessTaken(name, (await log.studies.tryOut(study.stream, command)).outcome);
    const total = skipped.reduce((sum, { count }) => sum + count, 0);
    const what =
      total === 0 ? 'no entries' : `${entriesText(total)} of ${counted(skipped.length, 'stratum', 'strata')}`;
    if (!dryRun && !(await mayChange(study.design, options, `Skip ${what} in ${studyText(log, study)}?`)))
      return;
    const revision = dryRun ? undefined : (await submitted(log, study, command)).revision;
    if (json)
      return result(JSON.stringify({ study: name, dryRun: dryRun ?? false, skipped, revision }, null, 2));
    const were = plural(total, 'was', 'were');
    note(
      dryRun
        ? `dry run: would skip ${what}; nothing was recorded`
        : `${what} ${were} skipped in ${name} (revision ${revision})`,
    );
  });
}

async function submitted(log: OpenLog, { stream, design }: Study, command: SkipEntries) {
  const written = await log.studies.submit(stream, command, cliActor());
  refuseUnlessTaken(design.name, written.outcome);
  return written;
}

/** @throws UsageError listing every problem */
function skippedIn(used: readonly string[], state: Model): SkipEntries['skipped'] {
  const strata = strataOf(state);
  const problems: string[] = [];
  const skipped = used.flatMap((text) => {
    const [, named = '', digits = ''] = /^(?:(.*):)?([1-9]\d{0,8})$/s.exec(text) ?? [];
    const stratum = strata.find(({ text: known }) => sameText(known, named));
    if (digits === '')
      problems.push(`--used ${quote(text)}: no number of at least 1 at the end (hint: 'local_site=11:2')`);
    else if (!stratum)
      problems.push(
        `--used ${quote(text)}: no stratum ${quote(named)} has entries (hint: ${strata.length > 0 ? strata.map((one) => one.text).join('; ') : 'register the list first, with urn lists add'})`,
      );
    else {
      const levels = stratum.levels.map(({ level }) => level);
      return [{ ...(levels.length > 0 && { levels }), count: Number(digits) }];
    }
    return [];
  });
  if (problems.length > 0) throw new UsageError(problems.join('\n     '));
  return skipped;
}

/** With or without blanks, as people copy it. */
function sameText(one: string, other: string): boolean {
  const bare = (text: string) => text.replace(/\s*([=,])\s*/g, '$1').trim();
  return bare(one) === bare(other);
}
