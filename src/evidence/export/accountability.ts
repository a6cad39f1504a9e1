/**
 * The accountability of packs: what became of each, as comma-separated values or on paper. One row is one pack. It names no
 * arm.
 */
import { escapeHtml as e, htmlTable, STYLE } from '../../base/html/page.ts';
import { guarded } from '../../base/text.ts';
import type { AccountedPack } from '../../core/study/pack-accountability.ts';
import { shownInstant } from '../bundle/texts.ts';
import { csvLine } from './columns.ts';

/** In pieces. @param isForExcel whether texts that a spreadsheet would take for formulas are guarded */
export function* accountabilityCsv(
  packs: readonly AccountedPack[],
  isForExcel = false,
): Generator<string, void> {
  yield csvLine(ACCOUNTABILITY_COLUMNS);
  for (let from = 0; from < packs.length; from += ROWS_AT_ONCE) {
    const rows = packs
      .slice(from, from + ROWS_AT_ONCE)
      .map((pack) => CSV_COLUMNS.map(([, cell]) => cell(pack) ?? ''));
    yield rows.map((cells) => csvLine(isForExcel ? cells.map(guarded) : cells)).join('');
  }
}

type Cell = (pack: AccountedPack) => string | undefined;

/** The columns of the CSV, in the order of the file. */
const CSV_COLUMNS: readonly (readonly [name: string, cell: Cell])[] = [
  ['code', ({ code }) => code],
  ['visit', ({ visit }) => visit],
  ['state', ({ state }) => state],
  ['id', ({ id }) => id],
  ['dispensed_at', ({ dispensedAt }) => dispensedAt],
  ['user', ({ user }) => user],
  ['on_behalf_of', ({ onBehalfOf }) => onBehalfOf],
  ['replaced_by', ({ replacedBy }) => replacedBy],
  ['cause', ({ cause }) => cause],
];

export const ACCOUNTABILITY_COLUMNS: readonly string[] = CSV_COLUMNS.map(([name]) => name);

/** How many packs are rendered at once. */
const ROWS_AT_ONCE = 1000;

interface PrintedStudy {
  readonly study: string;
  readonly isTest: boolean;
  readonly revision: number;
  /** When it was printed: `YYYY-MM-DDTHH:MM:SS.sssZ` */
  readonly at: string;
}

/** On paper: one HTML file without scripts or external resources. */
export function accountabilityPage(
  packs: readonly AccountedPack[],
  { study, isTest, revision, at }: PrintedStudy,
): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${e(study)}: accountability of packs</title>
<style>${PAGE_STYLE}</style></head><body>
<h1>${e(study)}: accountability of packs</h1>
<p class="lead">${isTest ? '<strong>Test study.</strong> ' : ''}As of ${e(shownInstant(at))}, revision ${revision}. Packs: ${packs.length}. It names no arm.</p>
${STATES_IN_WORDS}
${htmlTable(PAGE_HEAD, packs.map(pageCells))}
</body></html>
`;
}

const STATES_IN_WORDS = `<p><strong>held</strong>: the participant has it. <strong>replaced</strong>: they have another one in its place.
<strong>void</strong>: recorded for the participant, who never got it; nobody gets it any more. <strong>nobody</strong>: recorded
by a wrong entry only. <strong>withdrawn</strong>: not to be given out. <strong>free</strong>: still to be given out. A pack
without a visit was given out at the enrolment. Times are in UTC.</p>`;

/** What people write in by hand. */
const BY_HAND = ['Received', 'Returned', 'Destroyed', 'Initials'];
const PAGE_HEAD = ['Pack', 'Visit', 'State', 'Participant', 'Dispensed', 'By', ...BY_HAND];

function pageCells({ code, visit, state, id, dispensedAt, replacedBy, cause, ...who }: AccountedPack) {
  const { user, onBehalfOf } = who;
  const what = replacedBy === undefined ? state : `${state} by ${replacedBy}`;
  return [
    `<code>${e(code)}</code>`,
    e(visit ?? ''),
    e(cause === undefined ? what : `${what} (${cause})`),
    e(id ?? ''),
    dispensedAt === undefined ? '' : e(shownInstant(dispensedAt).replace(' UTC', '')),
    e([user, onBehalfOf].filter((name) => name !== undefined).join(', on behalf of ')),
    ...BY_HAND.map(() => ''),
  ];
}

const PAGE_STYLE = `${STYLE}
@page { size: A4 landscape; margin: 12mm; }
body { max-width: 273mm; font-size: 9pt; }
td, th { padding: 1.2mm; }
td:nth-child(n + 7) { border-left: 0.2mm solid var(--line); min-width: 20mm; }
`;
