import { escapeHtml as e, htmlTable, STYLE } from '../../base/html/page.ts';
import { guarded } from '../../base/text.ts';
import type { AccountedPack } from '../../core/study/pack-accountability.ts';
import { shownInstant } from '../bundle/texts.ts';
import { csvLine } from './columns.ts';

/** The accountability of packs as comma-separated values. One row is one pack. It names no arm. */

type Cell = (pack: AccountedPack) => string | undefined;

/** In the order of the file. */
const COLUMNS: readonly (readonly [name: string, cell: Cell])[] = [
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

export const ACCOUNTABILITY_COLUMNS: readonly string[] = COLUMNS.map(([name]) => name);

/** How many packs are rendered at once. */
const SLICE = 1000;

/** In pieces. @param isForExcel whether texts that a spreadsheet would take for formulas are guarded */
export function* accountabilityCsv(
  packs: readonly AccountedPack[],
  isForExcel = false,
): Generator<string, void> {
  yield csvLine(ACCOUNTABILITY_COLUMNS);
  for (let from = 0; from < packs.length; from += SLICE) {
    const rows = packs.slice(from, from + SLICE).map((pack) => COLUMNS.map(([, cell]) => cell(pack) ?? ''));
    yield rows.map((cells) => csvLine(isForExcel ? cells.map(guarded) : cells)).join('');
  }
}

/** The accountability of packs on paper: one HTML file without scripts or external resources. It names no arm. */

export interface AccountabilityOf {
  readonly study: string;
  readonly isTest: boolean;
  readonly revision: number;
  /** When it was printed: `YYYY-MM-DDTHH:MM:SS.sssZ` */
  readonly at: string;
}

const OWN_STYLE = `${STYLE}
@page { size: A4 landscape; margin: 12mm; }
body { max-width: 273mm; font-size: 9pt; }
td, th { padding: 1.2mm; }
td:nth-child(n + 7) { border-left: 0.2mm solid var(--line); min-width: 20mm; }
`;

/** What people write in by hand. */
const BY_HAND = ['Received', 'Returned', 'Destroyed', 'Initials'];
const HEAD = ['Pack', 'Visit', 'State', 'Participant', 'Dispensed', 'By', ...BY_HAND];

const STATES = `<p><strong>held</strong>: the participant has it. <strong>replaced</strong>: they have another one in its place.
<strong>void</strong>: recorded for the participant, who never got it; nobody gets it any more. <strong>nobody</strong>: recorded
by a wrong entry only. <strong>withdrawn</strong>: not to be given out. <strong>free</strong>: still to be given out. A pack
without a visit was given out at the enrolment. Times are in UTC.</p>`;

export function accountabilityPage(
  packs: readonly AccountedPack[],
  { study, isTest, revision, at }: AccountabilityOf,
): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${e(study)}: accountability of packs</title>
<style>${OWN_STYLE}</style></head><body>
<h1>${e(study)}: accountability of packs</h1>
<p class="lead">${isTest ? '<strong>Test study.</strong> ' : ''}As of ${e(shownInstant(at))}, revision ${revision}. Packs: ${packs.length}. It names no arm.</p>
${STATES}
${htmlTable(HEAD, packs.map(cellsOf))}
</body></html>
`;
}

function cellsOf({ code, visit, state, id, dispensedAt, replacedBy, cause, ...who }: AccountedPack) {
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
