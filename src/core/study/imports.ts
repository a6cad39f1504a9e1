/** The import of a history, as far as it is in the clear: which events may follow which. */
import type { StudyFact } from '../../../events/catalogue.ts';
import { microsecondsOf } from '../../base/time.ts';
import { counted } from '../../base/wording.ts';
import { approvalProblems } from '../model/approvals.ts';
import { hasRatio } from '../model/design.ts';
import type { Model, RowPlace } from '../model/model.ts';
import { impossible, type StudyOutcome } from '../model/outcomes.ts';

type Data<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>['data'];

/** Why a study with another method takes over no history that could be drawn again. */
export const ONLY_CSV =
  'the reference knows the urn alone: this study can take over only a csv, with a fresh generator';

export function beginProblem(
  { design, participants }: Model,
  { approvals, generator, proof, seedKnown, source }: Data<'HistoryImported'>,
  askedAt?: string,
): StudyOutcome | undefined {
  if (!participants.isEmpty()) return { type: 'not-empty' };
  const [problem] = approvalProblems(
    approvals,
    askedAt,
    design.mode,
    'a history can be imported into a live study only with an approval',
  );
  if (problem) return impossible(problem.field, problem.why);
  if (proof.redrawn + proof.unproven !== source.rows)
    return impossible('proof', 'it is not of all rows of the source');
  if (design.method.name !== 'urn' && (source.format !== 'csv' || generator !== 'fresh' || seedKnown))
    return impossible('source.format', ONLY_CSV);
  if (generator === 'continued' && hasRatio(design))
    return impossible(
      'generator',
      'the other system knows no ratio, so the generator cannot go on from there',
    );
  return undefined;
}

export function rowProblem(
  { importing }: Model,
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

function isAfter({ instant, row }: RowPlace, last: RowPlace | undefined): boolean {
  return !last || instant > last.instant || (instant === last.instant && row > last.row);
}

export function endProblem({ importing }: Model, data: Data<'HistoryImportEnded'>): StudyOutcome | undefined {
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
