/** Reads a history back as the reference does, and compares how it goes on with how the study goes on. */
import { BgState, type StudyConfiguration } from '../../events/study.ts';
import { allocate } from '../urn/allocate.ts';
import { Counts } from '../urn/counts.ts';
import { parseCsv } from './csv.ts';
import { type PythonLiteral, parsePythonLiteral } from './python-literal.ts';
import { columnsOfReference } from './reference-csv.ts';

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
export function checkReference(configuration: StudyConfiguration, csv: string, study: Drawing): void {
  const reread = readReference(configuration, csv);
  configuration.factors.forEach(({ levels }, factor) => {
    levels.forEach((_, level) => {
      const counts = [study.counts, reread.counts].map((each) => each.of(factor, level).join());
      if (counts[0] !== counts[1]) throw new Error('the file has other counts than the study');
    });
  });
  const one = drawMore(configuration, study);
  const other = drawMore(configuration, reread);
  if (one.join() !== other.join()) throw new Error('the file does not go on as the study does');
}

/** The state behind the last row, and what it was drawn from. @throws Error for a file that is not one of the reference */
export function readReference(configuration: StudyConfiguration, csv: string): Drawing {
  const [head = [], ...rows] = parseCsv(csv);
  const columns = columnsOfReference(configuration);
  if (head.join('\n') !== columns.join('\n')) throw new Error('the file has other columns than the study');
  const { factors, treatments } = configuration;
  const counts = new Counts(configuration);
  let [latest, state] = ['', ''];
  for (const row of rows) {
    const cell = (name: string) => row[columns.indexOf(name)] ?? '';
    const levels = factors.map((factor) => factor.levels.indexOf(cell(`f_${factor.name}`)));
    counts.add(levels, treatments.indexOf(cell('trt')));
    // All have the same form, so they compare as text.
    if (cell('datetime') <= latest) throw new Error('the times of the file do not increase');
    latest = cell('datetime');
    state = cell('bg_state');
  }
  return { counts, bgState: bgStateOf(parsePythonLiteral(state)) };
}

/** @throws ZodError unless it is a state of PCG64 */
function bgStateOf(literal: PythonLiteral): BgState {
  const json = JSON.stringify(literal, (name, value) => {
    if (typeof value !== 'bigint') return value;
    return name === 'state' || name === 'inc' ? String(value) : Number(value);
  });
  return BgState.parse(JSON.parse(json));
}

/** Arm and state of each, one after the other. */
function drawMore(configuration: StudyConfiguration, { counts, bgState }: Drawing): string[] {
  const more = counts.fork();
  let state = bgState;
  return Array.from({ length: DRAWN_MORE }, (_, n) => {
    const levels = configuration.factors.map((factor, i) => (n + i) % factor.levels.length);
    const { treatmentIndex, draw } = allocate(configuration, more, levels, state);
    more.add(levels, treatmentIndex);
    state = draw.bgStateAfter;
    const { state: numbers, has_uint32, uinteger } = state;
    return [treatmentIndex, numbers.state, numbers.inc, has_uint32, uinteger].join(' ');
  });
}
