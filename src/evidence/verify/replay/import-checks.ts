/**
 * Checks the rows of an import by what is never withheld: their numbers and the names of their sections, which show for
 * which rows the generator's state is recorded.
 */

import type { PartialEventOf, PartialStudyEvent } from '../../../../events/record.ts';
import { microsecondsOf } from '../../../base/time.ts';
import { ROWS_BACK } from '../../../core/model/import-proof.ts';
import type { Mismatch } from '../report/report.ts';
import { mismatch } from './differences.ts';

type Row = PartialEventOf<'ParticipantImported'>;

export class ImportChecks {
  /** Data of the import that is under way. */
  #begun: PartialEventOf<'HistoryImported'>['data'] | undefined;
  /** Numbers of the rows imported so far. */
  #rows = new Set<number>();
  /** How many rows there have been since the last one with a known state. */
  #sinceState = Number.POSITIVE_INFINITY;
  /** The row with the latest instant; if several have it, the first. */
  #latest: { readonly instant: number; readonly hasState: boolean } | undefined;

  /** @param sections names of all sections of the event, including withheld ones */
  mismatch(event: PartialStudyEvent, sections: readonly string[]): Mismatch | undefined {
    if (!this.#begun) return undefined;
    if (event.type === 'ParticipantImported') return this.#rowMismatch(event, this.#begun, sections);
    if (event.type !== 'HistoryImportEnded' || 'aborted' in event.data) return undefined;
    return this.#begun.generator === 'fresh' || this.#latest?.hasState
      ? undefined
      : mismatch(
          'data.import',
          'a state of the generator in the row with the largest instant',
          undefined,
          'the generator cannot go on from there',
        );
  }

  /** Adds an event that passed. */
  take(event: PartialStudyEvent, sections: readonly string[]): void {
    if (event.type === 'HistoryImported') {
      this.#begun = event.data;
      this.#rows = new Set();
      this.#sinceState = Number.POSITIVE_INFINITY;
      this.#latest = undefined;
    } else if (event.type === 'ParticipantImported') this.#takeRow(event, hasState(sections));
    else if (event.type === 'HistoryImportEnded') this.#begun = undefined;
  }

  #takeRow({ data: { original, row } }: Row, isStateKnown: boolean): void {
    this.#rows.add(row);
    this.#sinceState = isStateKnown ? 0 : this.#sinceState + 1;
    const instant = microsecondsOf(original.datetime) ?? 0;
    if (!this.#latest || instant > this.#latest.instant) this.#latest = { instant, hasState: isStateKnown };
  }

  #rowMismatch(
    { data: { cause, redrawn, row } }: Row,
    { seedKnown, source: { format } }: PartialEventOf<'HistoryImported'>['data'],
    sections: readonly string[],
  ): Mismatch | undefined {
    if (this.#rows.has(row)) return mismatch('data.row', 'a new row', row, 'this row is in already');
    if (redrawn !== (cause === undefined))
      return mismatch(
        'data.cause',
        redrawn ? undefined : 'a cause',
        cause,
        'either it was drawn again, or there is a cause',
      );
    const isEarlierKnown = seedKnown === true || this.#sinceState < ROWS_BACK;
    const causes = causesOf(format, hasState(sections), isEarlierKnown);
    if (!causes.includes(cause))
      return mismatch('data.cause', causes, cause, 'not as the recorded states of the generator have it');
    const isStateExpected = format === 'reference' && hasState(sections);
    const expected = redrawn ? 'draw' : isStateExpected ? 'state' : undefined;
    const found = sections.filter((name) => name !== 'allocation');
    return found.length === (expected ? 1 : 0) && found[0] === expected
      ? undefined
      : mismatch('seals', expected ?? 'no draw, no state', found, 'not the sections of such a row');
  }
}

type Cause = Row['data']['cause'];

/** The causes that a row can state; undefined if the row may have been redrawn. */
function causesOf(
  format: 'reference' | 'csv',
  isStateKnown: boolean,
  isEarlierKnown: boolean,
): readonly Cause[] {
  if (format === 'csv') return ['other-system'];
  if (!isStateKnown) return ['no-state'];
  return isEarlierKnown ? [undefined, 'override', 'differs'] : ['first'];
}

function hasState(sections: readonly string[]): boolean {
  return sections.includes('draw') || sections.includes('state');
}
