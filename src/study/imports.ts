/** The import of a history, as far as it is in the clear: which events may follow which. */
import type { StudyFact } from '../../events/catalogue.ts';
import { hasRatio } from '../../projections/design.ts';
import { counted } from '../base/counted.ts';
import { microsecondsOf } from '../base/instant.ts';
import type { Status } from './acts.ts';
import { approvalProblems } from './approvals.ts';
import { impossible, type StudyOutcome } from './commands.ts';
import type { Life } from './life.ts';

type Data<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>['data'];

/** An import that is under way. */
export interface Importing {
  readonly import: string;
  readonly rows: number;
  /** How many rows must be drawn again. */
  readonly toRedraw: number;
  /** How many rows are in, and how many of these were drawn again. */
  readonly taken: number;
  readonly redrawn: number;
  readonly last: Place | undefined;
  readonly statusBefore: Status;
  /** Whether the generator began anew in between. */
  readonly isRecovered: boolean;
}

/** The place of a row: by its instant, in microseconds, then by its number in the file. */
interface Place {
  readonly instant: number;
  readonly row: number;
}

export function beginProblem(
  { design, enrolled }: Life,
  { approvals, generator, proof, source }: Data<'HistoryImported'>,
  askedAt?: string,
): StudyOutcome | undefined {
  if (!enrolled.isEmpty()) return { type: 'not-empty' };
  const [problem] = approvalProblems(
    approvals,
    askedAt,
    design.mode,
    'a history can be imported into a live study only with an approval',
  );
  if (problem) return impossible(problem.field, problem.why);
  if (proof.redrawn + proof.unproven !== source.rows)
    return impossible('proof', 'it is not of all rows of the source');
  if (generator === 'continued' && hasRatio(design))
    return impossible(
      'generator',
      'the other system knows no ratio, so the generator cannot go on from there',
    );
  return undefined;
}

export function rowProblem(
  { importing }: Life,
  { import: id, original, row }: Data<'ParticipantImported'>,
): StudyOutcome | undefined {
  if (!importing) return { type: 'not-importing' };
  if (importing.import !== id) return impossible('import', 'another import is under way');
  if (importing.taken >= importing.rows || row > importing.rows)
    return impossible('row', `the source has ${counted(importing.rows, 'row')}`);
  const instant = microsecondsOf(original.datetime);
  if (instant === undefined) return impossible('original.datetime', 'it is not an instant');
  return isAfter({ instant, row }, importing.last)
    ? undefined
    : impossible('row', 'rows come in the order of their instants, then of their numbers');
}

function isAfter({ instant, row }: Place, last: Place | undefined): boolean {
  return !last || instant > last.instant || (instant === last.instant && row > last.row);
}

export function endProblem({ importing }: Life, data: Data<'HistoryImportEnded'>): StudyOutcome | undefined {
  if (!importing) return { type: 'not-importing' };
  if (importing.import !== data.import) return impossible('import', 'another import is under way');
  if ('aborted' in data) return undefined;
  if (data.rows !== importing.rows)
    return impossible('rows', `the source has ${counted(importing.rows, 'row')}`);
  if (importing.taken !== importing.rows)
    return impossible('rows', `${importing.taken} of ${counted(importing.rows, 'row')} are in`);
  if (importing.redrawn !== importing.toRedraw)
    return impossible('rows', `${importing.redrawn} rows were drawn again, not ${importing.toRedraw}`);
  return undefined;
}

export function begun<L extends Life>(life: L, { import: id, proof, source }: Data<'HistoryImported'>): L {
  const importing: Importing = {
    ...{ import: id, rows: source.rows, toRedraw: proof.redrawn, taken: 0, redrawn: 0 },
    ...{ last: undefined, statusBefore: life.status, isRecovered: false },
  };
  return { ...life, status: 'importing', importing };
}

export function withRow(
  importing: Importing,
  { original, redrawn, row }: Data<'ParticipantImported'>,
): Importing {
  return {
    ...importing,
    taken: importing.taken + 1,
    redrawn: importing.redrawn + Number(redrawn),
    last: { instant: microsecondsOf(original.datetime) ?? 0, row },
  };
}
