/** urn lists add: registers the entries of a file. */
import { quote } from '../base/text.ts';
import type { RegisterList } from '../core/study/commands.ts';
import type { Study } from '../core/study/studies.ts';
import { type ListFile, readListFile } from '../evidence/import/list-file.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { APPROVAL_FORM, decisionOf, PLACEHOLDER_APPROVAL } from './approvals.ts';
import { mayChange } from './confirm.ts';
import { entriesText, type ListWriteOptions, listedState, refuseUnlessTaken } from './lists-parts.ts';
import { namedStudy, UsageError } from './options.ts';
import { note, result, table } from './output.ts';
import { registeredState, studyText, withStudies } from './studies-log.ts';
import { writeLists } from './write-lists.ts';

export interface AddOptions extends ListWriteOptions {
  readonly from: string;
  readonly approvedBy?: readonly string[];
  readonly ignore?: string;
}

export async function addEntries(options: AddOptions): Promise<void> {
  const { study: name, from, dryRun, ignore } = options;
  const { approvals } = decisionOf({ approvedBy: options.approvedBy });
  await withStudies(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const state = listedState(log, study);
    const file = readListFile(from, ignore?.split(',') ?? [], state);
    refuseOfOtherMode(log, study, file.sha256);
    for (const warning of file.warnings) note(`warning: ${warning}`);
    if (file.known > 0)
      note(`${entriesText(file.known)} of the file: registered already, and left as they are`);
    const isUnapproved = study.design.mode === 'live' && approvals.length === 0;
    const commands = file.parts.map(({ first, entries: listed }, i) => ({
      ...{ type: 'register-list' as const, list: state.entries.lists + 1 + i, file: file.sha256, first },
      ...{ entries: listed, approvals: isUnapproved && dryRun ? [PLACEHOLDER_APPROVAL] : approvals },
      askedAt: new Date().toISOString(),
    }));
    // If one list is possible, all are.
    if (commands[0]) refuseUnlessTaken(name, (await log.studies.tryOut(study.stream, commands[0])).outcome);
    if (dryRun) {
      if (isUnapproved) note(`the study is live: the list needs --approved-by '${APPROVAL_FORM}'`);
      const text = `would register ${entriesText(file.added)} of ${name}; nothing was recorded`;
      return tell(options, file, commands.map(registeredList), text);
    }
    if (commands.length === 0)
      return tell(options, file, [], `nothing new for ${name}: nothing was recorded`);
    if (
      !(await mayChange(
        study.design,
        options,
        `Register ${entriesText(file.added)} in ${studyText(log, study)}?`,
      ))
    )
      return;
    const all = entriesText(file.added);
    const revisions = await writeLists(log, study, commands, {
      ...{ all, shownAs: 'entries registered', refuse: refuseUnlessTaken },
    });
    const lists = commands.map((command, i) => ({ ...registeredList(command), revision: revisions[i] ?? 0 }));
    tell(options, file, lists, `registered ${all} of ${name}`);
  });
}

/** Whoever runs a test sees its arms. @throws UsageError */
function refuseOfOtherMode(log: OpenLog, { design: { mode } }: Study, sha256: string): void {
  const other = log.studies
    .list()
    .find((one) => one.design.mode !== mode && registeredState(log, one).entries.knows(sha256));
  if (!other) return;
  const why = mode === 'test' ? 'a test would show its arms' : 'whoever tested it may know its arms';
  throw new UsageError(
    `the ${other.design.mode} study ${quote(other.design.name)} has this file, and ${why} (hint: have another list made)`,
  );
}

interface RegisteredList {
  readonly list: number;
  readonly first: number;
  readonly count: number;
  readonly revision?: number;
}

function registeredList({ list, first, entries: { length } }: RegisterList): RegisteredList {
  return { list, first, count: length };
}

function tell(
  { study, dryRun = false, json }: AddOptions,
  { added, known, sha256, warnings }: ListFile,
  lists: readonly RegisteredList[],
  text: string,
): void {
  if (json) {
    result(
      JSON.stringify({ study, dryRun, file: sha256, registered: added, known, lists, warnings }, null, 2),
    );
    return;
  }
  const rows = lists.map(({ list, first, count, revision }) => [
    `  list ${list}`,
    `rows ${first} to ${first + count - 1}`,
    revision === undefined ? '' : `revision ${revision}`,
  ]);
  note(`${dryRun ? 'dry run: ' : ''}${text}`);
  if (rows.length > 0) note(`${table(rows)}\n  of the file with the SHA-256 ${sha256}`);
}
