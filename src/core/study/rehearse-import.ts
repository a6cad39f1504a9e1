/** Tries an import without writing it: which rows can be drawn again, and what would be refused. */
import type { UnprovenCause } from '../../../events/from-outside.ts';
import type { Model } from '../model/model.ts';
import type { StudyOutcome } from '../model/outcomes.ts';
import type { BeginImport, ImportParticipant } from './commands.ts';
import { decideImport } from './decide-import.ts';
import { afterUnwritten, fork } from './state.ts';

export interface Rehearsal {
  readonly redrawn: number;
  readonly unproven: readonly { readonly row: number; readonly cause: UnprovenCause }[];
  /** Why the import is not possible; undefined if it is. */
  readonly refused: { readonly row: number | undefined; readonly outcome: StudyOutcome } | undefined;
}

/** @param onRow gets the number of rows decided so far */
export function rehearse(
  original: Model,
  begin: Omit<BeginImport, 'proof'>,
  rows: readonly ImportParticipant[],
  onRow: (rows: number) => void = () => undefined,
): Rehearsal {
  let state = fork(original) as Model;
  const unproven: { row: number; cause: UnprovenCause }[] = [];
  const nothing = { redrawn: 0, unproven: [] };
  // How many can be drawn again is not known yet, and is compared only at the end of an import.
  const first = decideImport(state, { ...begin, proof: { redrawn: 0, unproven: rows.length } });
  if (!first.fact) return { ...nothing, refused: { row: undefined, outcome: first.outcome } };
  state = afterUnwritten(state, first.fact, 0);
  for (const [i, command] of rows.entries()) {
    const { fact, outcome } = decideImport(state, command);
    if (fact?.type !== 'ParticipantImported') return { ...nothing, refused: { row: command.row, outcome } };
    const { cause } = fact.data;
    if (cause !== undefined) unproven.push({ row: command.row, cause });
    state = afterUnwritten(state, fact, 0);
    onRow(i + 1);
  }
  return { redrawn: rows.length - unproven.length, unproven, refused: undefined };
}
