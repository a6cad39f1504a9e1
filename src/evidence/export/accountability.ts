/** The accountability of packs as comma-separated values. One row is one pack. It names no arm. */
import { guarded } from '../../base/text.ts';
import type { AccountedPack } from '../../core/study/pack-accountability.ts';
import { csvLine } from './csv.ts';

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
