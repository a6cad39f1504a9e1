/** urn lists skip: passes over entries that participants have whom the log lacks. */

import { freeTextProblem, quote } from '../base/text.ts';
import { counted, plural } from '../base/wording.ts';
import type { Model } from '../core/model/model.ts';
import type { SkipEntries } from '../core/study/commands.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { mayChange } from './confirm.ts';
import { type ListStratum, strataOf } from './list-strata.ts';
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
  const named = used.map((text) => {
    const [, name = '', digits = ''] = /^(?:(.*):)?\s*([1-9]\d{0,8})\s*$/s.exec(text) ?? [];
    return { text, name, count: Number(digits), found: strataNamed(name, strata) };
  });
  const problems = named.flatMap(({ text, name, count, found }, at) => {
    const why = usedProblem(name, count, found, strata);
    const isThere = named.slice(0, at).some((earlier) => earlier.found[0] === found[0]);
    const problem = why ?? (isThere ? 'the stratum is there twice (hint: add up its entries)' : undefined);
    return problem === undefined ? [] : [`--used ${quote(text)}: ${problem}`];
  });
  if (problems.length > 0) throw new UsageError(problems.join('\n     '));
  return named.map(({ count, found }) => {
    const levels = (found[0]?.levels ?? []).map(({ level }) => level);
    return { ...(levels.length > 0 && { levels }), count };
  });
}

/** How many strata a hint names. */
const SHOWN = 10;

/** @param found the strata with this name */
function usedProblem(
  name: string,
  count: number,
  found: readonly ListStratum[],
  strata: readonly ListStratum[],
): string | undefined {
  if (count === 0) return "no number of at least 1 at the end (hint: 'local_site=11:2')";
  const [stratum, other] = found;
  if (!stratum) {
    const names = strata.slice(0, SHOWN).map((one) => one.text);
    const known = `${names.join('; ')}${strata.length > SHOWN ? '; urn lists status shows all' : ''}`;
    const hint = strata.some(({ used, left }) => used + left > 0)
      ? known
      : 'register the list first, with urn lists add';
    return `no stratum ${quote(name)} has entries (hint: ${hint})`;
  }
  if (other) return 'several strata are called that (hint: rename a level, with urn studies amend)';
  return count > stratum.left
    ? `${entriesText(stratum.left)} of the stratum ${plural(stratum.left, 'is', 'are')} left (hint: if a list was lost too, register it first, with urn lists add)`
    : undefined;
}

/** With or without blanks, as people copy the name. No name is enough for the whole study. */
function strataNamed(name: string, strata: readonly ListStratum[]): readonly ListStratum[] {
  const exactly = strata.filter(({ text, levels }) => text === name || (name === '' && levels.length === 0));
  return exactly.length > 0 ? exactly : strata.filter(({ text }) => bare(text) === bare(name));
}

const bare = (text: string) => text.replace(/\s*([=,])\s*/g, '$1').trim();
