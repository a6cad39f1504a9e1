/** Reads a history back as an import does, and compares how it would continue with how the study continues. */
import type { BgState } from '../../../events/study.ts';
import { Counts } from '../../core/methods/memory.ts';
import { allocate } from '../../core/methods/urn.ts';
import type { Design } from '../../core/model/design.ts';
import { methodDesignOf, urnDesignOf } from '../../core/model/method-of.ts';
import { readHistory } from '../import/read-history.ts';
import { csvTable } from '../import/source-file.ts';

/** All that the next draw depends on. */
export interface Drawing {
  readonly counts: Counts;
  readonly bgState: BgState;
}

/** How many more participants are drawn on both sides. */
export const DRAWN_MORE = 5;

/**
 * @param csv the file
 * @throws Error when the file is not the study: some count, arm or state differs
 */
export function checkReference(design: Design, csv: string, study: Drawing): void {
  const reread = readReference(design, csv);
  design.factors.forEach(({ levels }, factor) => {
    levels.forEach((_, level) => {
      const counts = [study.counts, reread.counts].map((each) => each.of(factor, level).join());
      if (counts[0] !== counts[1]) throw new Error('the file has other counts than the study');
    });
  });
  const one = drawMore(design, study);
  const other = drawMore(design, reread);
  if (one.join() !== other.join()) throw new Error('the file does not go on as the study does');
}

/** The state after the last row, and what it was drawn from. @throws ImportError for a file that cannot be imported */
export function readReference(design: Design, csv: string): Drawing {
  const rows = readHistory(csvTable(Buffer.from(csv)), design, 'reference', new Map());
  const { factors, treatments } = design;
  const counts = new Counts(design);
  for (const { levels, treatment } of rows)
    counts.add(
      levels.map((level, i) => factors[i]?.levels.indexOf(level) ?? -1),
      treatments.indexOf(treatment),
    );
  const bgState = rows.at(-1)?.bgState;
  if (!bgState) throw new Error('the last row of the file has no state');
  return { counts, bgState };
}

/** Arm and state of each, one after the other. */
function drawMore(design: Design, { counts, bgState }: Drawing): string[] {
  const urnDesign = urnDesignOf(methodDesignOf(design, {}));
  const more = counts.fork();
  let state = bgState;
  return Array.from({ length: DRAWN_MORE }, (_, n) => {
    const levels = design.factors.map((factor, i) => (n + i) % factor.levels.length);
    const { slot, draw } = allocate(urnDesign, more, levels, state);
    more.add(levels, slot);
    state = draw.bgStateAfter;
    const { state: numbers, has_uint32, uinteger } = state;
    return [slot, numbers.state, numbers.inc, has_uint32, uinteger].join(' ');
  });
}
