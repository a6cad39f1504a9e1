/**
 * The history of a study as the reference implementation writes it with pandas, so that the reference accepts it and
 * continues bit for bit. Before it is shown, it is read back as an import does, and must draw on as the study does. Facts about
 * its format are those of pandas 1.5: what `read_csv` takes for a missing value, and that `to_csv` quotes only where it must
 * and ends lines with LF.
 */
import type { BgState } from '../../../events/study.ts';
import { microsecondsOf } from '../../base/time.ts';
import { Counts } from '../../core/methods/memory.ts';
import { allocate } from '../../core/methods/urn.ts';
import { type Design, hasRatio } from '../../core/model/design.ts';
import { methodDesignOf, urnDesignOf } from '../../core/model/method-of.ts';
import { countedLevels, currentId, currentLevels, type Participant } from '../../core/model/participants.ts';
import { readHistory } from '../import/read-history.ts';
import { csvTable } from '../import/source-file.ts';
import { csvLine } from './columns.ts';

/** The participants that the urns count, with the levels they count. */
interface CountedParticipant {
  readonly participant: Participant;
  readonly levels: readonly string[];
}

/** The participants who are in the urns, and the others, each in the order of randomization. */
export function byCounting(
  participants: readonly Participant[],
  design: Pick<Design, 'epochBegan'>,
): {
  readonly counted: readonly CountedParticipant[];
  readonly others: readonly Participant[];
} {
  const counted: CountedParticipant[] = [];
  const others: Participant[] = [];
  for (const participant of participants) {
    const levels = countedLevels(participant, design);
    if (levels) counted.push({ participant, levels });
    else others.push(participant);
  }
  return { counted, others };
}

/** The file of those who are counted. */
export function referenceCsv(design: Design, counted: readonly CountedParticipant[]): string {
  let last = Number.NEGATIVE_INFINITY;
  const lines = counted.map(({ participant, levels }) => {
    // Batches share an instant, and clocks are set back. If times are equal, the reference would continue from the earlier
    // row.
    const { original } = participant;
    last = original
      ? (microsecondsOf(original.datetime) ?? last)
      : Math.max(inMicroseconds(participant.at), last + 1);
    return csvLine(referenceCells(participant, levels, original?.datetime ?? pandasDatetime(last)), '\n');
  });
  return csvLine(columnsOfReference(design), '\n') + lines.join('');
}

function columnsOfReference({ factors }: Design): string[] {
  return ['id', ...factors.map(({ name }) => `f_${name}`), 'trt', 'datetime', 'user', 'bg_state'];
}

function referenceCells(participant: Participant, levels: readonly string[], at: string): string[] {
  const { treatment, user, bgStateAfter } = participant;
  return [currentId(participant), ...levels, treatment, at, user, pythonDict(bgStateAfter)];
}

/** numpy's `bit_generator.state` as Python prints it; empty if it is not known. */
function pythonDict(bgState: BgState | undefined): string {
  if (!bgState) return '';
  const { bit_generator, state, has_uint32, uinteger } = bgState;
  return `{'bit_generator': '${bit_generator}', 'state': {'state': ${state.state}, 'inc': ${state.inc}}, 'has_uint32': ${has_uint32}, 'uinteger': ${uinteger}}`;
}

function inMicroseconds(at: string): number {
  return Date.parse(at) * 1000;
}

/** UTC, always with six digits: pandas alone would leave out what a whole column does not need. */
function pandasDatetime(us: number): string {
  const ms = new Date(Math.floor(us / 1000)).toISOString().slice(0, -1).replace('T', ' ');
  return `${ms}${String(us % 1000).padStart(3, '0')}`;
}

/** The true times of the same rows. */
export function trueTimes(counted: readonly CountedParticipant[]): string {
  const lines = counted.map(({ participant }) => [
    ...[currentId(participant), String(participant.revision), participant.at],
  ]);
  return [['id', 'revision', 'at'], ...lines].map((line) => csvLine(line, '\n')).join('');
}

/**
 * The file of those who are not counted, with their current levels, their true times, and why. No cause: an allocation that
 * was entered by hand, of a study that does not count these.
 */
export function notCountedCsv(design: Design, others: readonly Participant[]): string {
  const lines = others.map((participant) => [
    ...referenceCells(
      participant,
      currentLevels(participant),
      participant.original?.datetime ?? pandasDatetime(inMicroseconds(participant.at)),
    ),
    participant.corrected?.voided?.cause ?? '',
  ]);
  return [[...columnsOfReference(design), 'voided_cause'], ...lines]
    .map((line) => csvLine(line, '\n'))
    .join('');
}

/** Why the reference could not continue from the file as the study does; empty if it can. */
export function problemsOfReference(
  design: Design,
  participants: readonly Participant[],
  bgState: BgState,
): string[] {
  const { counted } = byCounting(participants, design);
  const missing = new Set<string>();
  const columns = columnsOfReference(design);
  const unknown = counted.filter(({ participant }) => !participant.bgStateAfter).length;
  for (const { participant, levels } of counted)
    for (const [i, cell] of referenceCells(participant, levels, '0').entries())
      if (READ_AS_MISSING.has(cell) && columns[i] !== 'bg_state')
        missing.add(`pandas reads ${JSON.stringify(cell)} (${columns[i]}) as missing`);
  const why = stateProblem(participants.at(-1), counted.at(-1)?.participant, bgState);
  return [
    ...designProblems(design, counted),
    ...(why === undefined ? [] : [why]),
    ...(unknown > 0 ? [`${unknown} imported participants have no state of the generator`] : []),
    ...missing,
  ];
}

/** What pandas reads as a missing value, in this version or a later one. */
export const READ_AS_MISSING: ReadonlySet<string> = new Set([
  ...['', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN'],
  ...['<NA>', 'N/A', 'NA', 'NULL', 'NaN', 'None', 'n/a', 'nan', 'null'],
]);

/** What the reference does not know. */
function designProblems(design: Design, counted: readonly CountedParticipant[]): string[] {
  const retired = design.factors.filter(({ isRetired }) => isRetired).map(({ name }) => name);
  const closed = design.closedTreatments.filter((name) =>
    counted.some(({ participant }) => participant.treatment === name),
  );
  return [
    ...(design.method.name === 'urn'
      ? []
      : ['the reference knows the urn alone, and the study has another method']),
    ...(hasRatio(design) ? ['the study has a ratio, which the reference does not know'] : []),
    ...retired.map(
      (name) => `the factor ${JSON.stringify(name)} is retired, and the reference draws by every factor`,
    ),
    ...(design.epoch > 0
      ? ['an amendment made the urns begin anew, and the reference counts everybody']
      : []),
    ...closed.map(
      (name) =>
        `the arm ${JSON.stringify(name)} is closed and has participants, and the reference draws every arm`,
    ),
  ];
}

/** The reference continues from the state of the last row. */
function stateProblem(
  last: Participant | undefined,
  lastCounted: Participant | undefined,
  bgState: BgState,
): string | undefined {
  if (!lastCounted) return 'nobody is counted, so there is no state to go on from';
  // Nothing was drawn for an allocation that was entered by hand, so it may be left out after the last row.
  if (pythonDict(lastCounted.bgStateAfter) === pythonDict(bgState)) return undefined;
  return lastCounted !== last
    ? `${JSON.stringify(last && currentId(last))}, randomized last, is not counted, so the last row has not the present state of the generator`
    : 'the generator was restarted by a recovery, and nobody was randomized since, so no row has its present state';
}

/** All that the next draw depends on. */
interface Drawing {
  readonly counts: Counts;
  readonly bgState: BgState;
}

/** How many more participants are drawn on both sides. */
export const DRAWN_MORE = 5;

/**
 * Reads the file back as an import does, and compares how it would continue with how the study continues.
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

/**
 * What versions of the reference make of the names of arms that they draw: they take the letters of `balls_trt_` from
 * their beginning. Only those that they change.
 */
export function eatenNames({ treatments }: Design): [name: string, eaten: string][] {
  return treatments
    .map((name): [string, string] => [name, name.replace(/^[abls_tr]+/, '')])
    .filter(([name, eaten]) => eaten !== name);
}
