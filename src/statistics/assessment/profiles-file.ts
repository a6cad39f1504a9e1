/** Profiles of participants for a simulation: CSV with a column for each factor and `weight`. */

import { quote } from '../../base/text.ts';
import { counted } from '../../base/wording.ts';
import { type CsvRow, csvRows, ImportError } from '../../evidence/import/csv-file.ts';
import type { Arrivals, SimulatedDesign } from '../simulation/plan.ts';
import { parseShare } from '../simulation/shares-file.ts';
import { among } from './names.ts';

type Factors = SimulatedDesign['factors'];

const WEIGHT = 'weight';

/** @throws ImportError listing every problem in the file */
export function readProfiles(bytes: Buffer, factors: Factors): Extract<Arrivals, { kind: 'rows' }> {
  const [header, ...rows] = csvRows(bytes);
  const columns = columnsOf(header, factors);
  const problems: string[] = [];
  if (rows.length === 0) problems.push('the file has no profiles');
  const levelsOf = factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i])));
  const read = rows.map(({ line, cells }) => {
    const refuse = (why: string) => problems.push(`line ${line}: ${why}`);
    if (cells.length !== factors.length + 1)
      refuse(`${counted(cells.length, 'field')} instead of ${factors.length + 1}`);
    const weight = parseShare(cells[columns.weight] ?? '');
    if (weight === undefined)
      refuse(`the weight ${quote(cells[columns.weight] ?? '')} is not a number from 0 to 1e15`);
    const levels = factors.map(({ name, levels: all }, f) => {
      const cell = cells[columns.factors[f] ?? -1] ?? '';
      const level = levelsOf[f]?.get(cell);
      if (level === undefined)
        refuse(`factor ${quote(name)} has no level ${quote(cell)}, only ${among(all.map(quote))}`);
      return level ?? 0;
    });
    return { levels, weight: weight ?? 0 };
  });
  if (problems.length === 0 && read.every(({ weight }) => weight === 0)) problems.push('all weights are 0');
  if (problems.length > 0) throw new ImportError(problems);
  return { kind: 'rows', rows: read.map(({ levels }) => levels), weights: read.map(({ weight }) => weight) };
}

/** @throws ImportError unless the first line has each column once, and no other */
function columnsOf(header: CsvRow | undefined, factors: Factors): { weight: number; factors: number[] } {
  const found = header?.cells ?? [];
  const wanted = [...factors.map(({ name }) => name), WEIGHT];
  const isUnfit = found.length !== wanted.length || wanted.some((name) => !found.includes(name));
  if (isUnfit)
    throw new ImportError([
      `line 1: the columns are ${quote(found.join(','))} (expected, in any order: ${among(wanted.map(quote))})`,
    ]);
  return { weight: found.indexOf(WEIGHT), factors: factors.map(({ name }) => found.indexOf(name)) };
}
