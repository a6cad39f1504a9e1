/**
 * Reads the history of a study from the table of a file, and plans what urn import will write: the rows, what their
 * treatments are called here, and how the generator continues. Every problem of every row is reported together.
 */
import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Approval } from '../../../events/define.ts';
import type { ImportedGenerator, SourceFormat } from '../../../events/from-outside.ts';
import type { BgState } from '../../../events/study.ts';
import { freeTextProblem, lookAlikeProblem, quote } from '../../base/text.ts';
import { microsecondsOf } from '../../base/time.ts';
import { counted } from '../../base/wording.ts';
import { activeFactors, type Design } from '../../core/model/design.ts';
import { IdPattern } from '../../core/model/id-pattern.ts';
import { isSame } from '../../core/model/import-proof.ts';
import type { Model } from '../../core/model/model.ts';
import { problemsOfId } from '../../core/model/participant-id.ts';
import { NONE } from '../../core/model/participants.ts';
import { Pcg64 } from '../../core/random/pcg64.ts';
import type { BeginImport, ImportParticipant } from '../../core/study/commands.ts';
import { slotsOf } from '../../core/study/force.ts';
import { drawnSeed } from '../../core/study/studies.ts';
import { ImportError } from './csv-file.ts';
import type { SourceFile, SourceTable } from './source-file.ts';

export interface ImportOptions {
  readonly format: SourceFormat;
  readonly generator: ImportedGenerator;
  readonly seedKnown?: boolean;
  /** Names of treatments: theirs, and ours. */
  readonly treatmentMap: ReadonlyMap<string, string>;
}

export interface ImportPlan {
  readonly begin: Omit<BeginImport, 'proof'>;
  readonly rows: readonly ImportParticipant[];
}

/**
 * Plans what urn import will write.
 * @param state of the study, in which the same import may already be under way
 * @throws ImportError listing every problem in the file
 */
export function planOf(
  design: Design,
  state: Model,
  file: SourceFile,
  options: ImportOptions,
  approvals: readonly Approval[],
): ImportPlan {
  const treatmentMap = treatmentMapOf(options.treatmentMap, design);
  const table = file.table(design.name);
  const history = readHistory(table, design, options.format, treatmentMap);
  const begin = {
    ...beginning(options, history, file, treatmentMap),
    ...{ approvals, amendment: design.amendment, import: state.importing?.import ?? randomUUID() },
  };
  const rows = history.map(({ instant: _, ...row }, place): ImportParticipant => {
    return { type: 'import-participant', import: begin.import, place, ...row };
  });
  if (!state.importing) refuseOtherSeed(options, table.settings, state);
  return { begin, rows };
}

interface MappedTreatment {
  readonly to: string;
  /** Index of the slot, if each slot of the arm has a name of its own in the file. */
  readonly slot?: number;
}

/** What the treatments of a file are called in the study (`--treatment-map`): by the name in the file, in the order given. */
type TreatmentMap = ReadonlyMap<string, MappedTreatment>;

/** Several names of one arm take its slots in the order given. */
function treatmentMapOf(pairs: ReadonlyMap<string, string>, design: Pick<Design, 'slots'>): TreatmentMap {
  const targets = [...pairs.values()];
  const all = [...pairs].map(([from, to], i): [string, MappedTreatment] => {
    const slots = slotsOf(design, to);
    const names = targets.filter((one) => one === to).length;
    const slot = slots[targets.slice(0, i).filter((one) => one === to).length];
    return [from, { to, ...(names > 1 && names === slots.length && slot !== undefined && { slot }) }];
  });
  return new Map(all);
}

function beginning(
  { format, generator, seedKnown }: ImportOptions,
  history: readonly HistoryRow[],
  { bytes }: SourceFile,
  treatmentMap: TreatmentMap,
): Omit<BeginImport, 'proof' | 'import' | 'approvals'> {
  const seed = generator === 'fresh' ? drawnSeed() : undefined;
  const bgState = seed === undefined ? lastState(history) : Pcg64.fromSeed(seed).snapshot();
  if (!bgState)
    throw new ImportError([
      'the row with the largest instant has no state, so the generator cannot continue',
    ]);
  const pairs = [...treatmentMap].map(([from, named]) => ({ from, ...named }));
  return {
    type: 'begin-import',
    source: { format, rows: history.length },
    sha256: createHash('sha256').update(bytes).digest('hex'),
    ...(pairs.length > 0 && { treatmentMap: pairs }),
    ...{ generator, bgState, seed, seedKnown },
  };
}

/** Among rows with the same instant, the reference continues from the first. */
function lastState(history: readonly HistoryRow[]) {
  const last = history.at(-1)?.instant;
  return history.find(({ instant }) => instant === last)?.bgState;
}

/** @throws ImportError when the other system's database has a different seed from the study */
function refuseOtherSeed(
  { seedKnown }: ImportOptions,
  settings: SourceTable['settings'],
  { seedState }: Model,
): void {
  const seed = settings?.get('starting_seed') ?? '';
  if (
    !seedKnown ||
    !settings ||
    !seedState ||
    (/^\d+$/.test(seed) && isSame(Pcg64.fromSeed(BigInt(seed)).snapshot(), seedState))
  )
    return;
  throw new ImportError([
    `the database ${seed === '' ? 'has no starting_seed' : 'has a different starting_seed from the study'} (hint: leave out --seed-known)`,
  ]);
}

/** A row of the file, with what it says in the terms of the study. */
export interface HistoryRow {
  /** Number of the row in the file, from 1. */
  readonly row: number;
  /** In microseconds. */
  readonly instant: number;
  readonly participantId: string;
  readonly levels: readonly string[];
  readonly treatment: string;
  /** Index of the slot, if the file distinguishes the slots of the arm. */
  readonly slot?: number;
  readonly original: { readonly datetime: string; readonly user: string };
  readonly bgState: BgState | undefined;
}

/**
 * Reads the rows of a study from a table.
 * @returns the rows in the order of their instants, then of their numbers
 * @throws ImportError with every problem
 */
export function readHistory(
  table: SourceTable,
  design: Design,
  format: SourceFormat,
  map: TreatmentMap,
): HistoryRow[] {
  const factors = activeFactors(design);
  const wanted = ['id', ...factors.map(({ name }) => `f_${name}`), 'trt', 'datetime', 'user'];
  const missing = wanted.filter((name) => !table.columns.includes(name));
  const unknown = table.columns.filter((name) => !wanted.includes(name) && name !== 'bg_state');
  const problems = [
    ...missing.map((name) => `the file has no column ${quote(name)}`),
    ...unknown.map((name) => {
      const hint = name === '' ? ' (hint: remove it; in R, write.csv with row.names = FALSE)' : '';
      return `the file has a column ${quote(name)}, which the study does not know${hint}`;
    }),
    ...settingsProblems(table, design, map),
    ...mapProblems(map, design),
  ];
  if (table.rows.length === 0) problems.push('the file has no rows');
  if (problems.length > 0) throw new ImportError(problems);

  const reader = new RowReader(table, design, format, map);
  const rows = table.rows.map((cells, i) => reader.read(cells, i + 1));
  if (reader.problems.length > 0) throw new ImportError(reader.problems);
  return rows.sort((a, b) => a.instant - b.instant || a.row - b.row);
}

/** Reads row by row, and collects the problems of all of them. */
class RowReader {
  readonly problems: string[] = [];
  readonly #columns: ReadonlyMap<string, number>;
  readonly #design: Design;
  readonly #format: SourceFormat;
  readonly #map: TreatmentMap;
  readonly #pattern: IdPattern | undefined;
  readonly #width: number;
  /** The row of each id. */
  readonly #rows = new Map<string, number>();
  /** How the file names each treatment, or one of its slots. */
  readonly #names = new Map<string, { readonly name: string; readonly slot: number | undefined }>();

  constructor({ columns }: SourceTable, design: Design, format: SourceFormat, map: TreatmentMap) {
    this.#columns = new Map(columns.map((name, i) => [name, i]));
    this.#width = columns.length;
    this.#design = design;
    this.#format = format;
    this.#map = map;
    const { idPattern } = design;
    this.#pattern = idPattern === undefined ? undefined : new IdPattern(idPattern);
  }

  read(cells: readonly (string | undefined)[], row: number): HistoryRow {
    const found: string[] = [];
    if (cells.length !== this.#width)
      found.push(`it has ${counted(cells.length, 'field')}, and the first line has ${this.#width}`);
    const cell = (name: string) => cells[this.#columns.get(name) ?? -1];
    const needed = (name: string) => {
      const value = cell(name);
      if (value === undefined) found.push(`${name} is empty`);
      return value ?? '';
    };
    const participantId = this.#id(needed('id'), row, found);
    const levels = this.#design.factors.map(({ name, levels: known, isRetired }) => {
      if (isRetired) return NONE;
      const level = needed(`f_${name}`);
      if (level !== '' && !known.includes(level))
        found.push(`${name} has no level ${quotedStart(level)} (there are: ${known.map(quote).join(', ')})`);
      return level;
    });
    const { to: treatment, slot } = this.#treatment(needed('trt'), found);
    const datetime = needed('datetime');
    const instant = microsecondsOf(datetime);
    if (datetime !== '' && instant === undefined)
      found.push(`${quotedStart(datetime)} is not an instant, such as 2026-11-22 05:38:14.477949`);
    if ((instant ?? 0) > Date.now() * 1000)
      found.push(
        `${quotedStart(datetime)} is in the future (hint: a time without an offset is in UTC; convert local times)`,
      );
    const user = needed('user');
    const unfit = user === '' ? undefined : freeTextProblem(user, 1);
    if (unfit !== undefined) found.push(`user ${unfit}`);
    const bgState = this.#state(cell('bg_state'), found);
    if (found.length > 0) this.problems.push(`row ${row}: ${found.join('; ')}`);
    const original = { datetime, user };
    const named = { row, instant: instant ?? 0, participantId, levels, treatment, original, bgState };
    return slot === undefined ? named : { ...named, slot };
  }

  #id(id: string, row: number, found: string[]): string {
    if (id === '') return id;
    const earlier = this.#rows.get(id);
    if (earlier !== undefined) found.push(`the id ${quotedStart(id)} is in row ${earlier} too`);
    this.#rows.set(id, earlier ?? row);
    found.push(...problemsOfId(id));
    const lookAlike = lookAlikeProblem(id);
    if (lookAlike !== undefined) found.push(`id ${lookAlike}`);
    if (this.#pattern && !this.#pattern.matches(id)) found.push(`id ${this.#pattern.mismatch}`);
    return id;
  }

  #treatment(name: string, found: string[]): MappedTreatment {
    const { treatments } = this.#design;
    const named = this.#map.get(name) ?? { to: name };
    const { to, slot } = named;
    if (name === '') return named;
    if (treatments.includes(to)) {
      const other = this.#names.get(to) ?? { name, slot };
      this.#names.set(to, other);
      if (other.name !== name && (slot === undefined || other.slot === undefined))
        found.push(`${quotedStart(name)} and ${quotedStart(other.name)} are the same treatment`);
      return named;
    }
    const eaten = treatments.filter((one) => withoutEaten(one) === name);
    const hint = eaten.map(
      (one) =>
        `; the reference drops leading letters of names (hint: --treatment-map ${quote(`${name}=${one}`)})`,
    );
    const known = eaten.length > 0 ? '' : ` (there are: ${treatments.map(quote).join(', ')})`;
    found.push(`there is no treatment ${quotedStart(name)}${hint.join('') || known}`);
    return named;
  }

  #state(text: string | undefined, found: string[]): BgState | undefined {
    if (text === undefined || text === NO_STATE || this.#format === 'csv') return undefined;
    const state = readBgState(text);
    if (!state) found.push('bg_state is not the state of a PCG64');
    return state;
  }
}

/** How a database represents a missing state. */
const NO_STATE = 'null';

/** A field may hold a whole file, if a quote is missing. */
function quotedStart(text: string): string {
  return text.length > 60 ? `${quote([...text.slice(0, 60)].slice(0, -1).join(''))}…` : quote(text);
}

/** Characters that the reference strips from the beginning of a treatment's name by mistake. */
const EATEN = new Set('balls_trt_');

function withoutEaten(name: string): string {
  const first = [...name].findIndex((letter) => !EATEN.has(letter));
  return first < 0 ? '' : [...name].slice(first).join('');
}

/** The reference keeps the design beside the history. It must be the one registered here. */
function settingsProblems({ settings }: SourceTable, design: Design, map: TreatmentMap): string[] {
  if (!settings || design.method.name !== 'urn') return [];
  const { w, alpha, beta, D, urnSelection } = design.method;
  const factors = activeFactors(design);
  const ours: readonly (readonly [string, unknown])[] = [
    ['w', w],
    ['alpha', alpha],
    ['beta', beta],
    ['D', D],
    ['urn_selection', urnSelection],
    ['factors', inOrderOfName(factors.map(({ name, levels }) => [name, levels]))],
  ];
  const others = ours.flatMap(([name, registered]) => {
    const theirs = settings.get(name);
    if (theirs === undefined || comparable(name, theirs) === JSON.stringify(registered)) return [];
    const shown = name === 'factors' ? Object.fromEntries(registered as [string, unknown][]) : registered;
    return [`${name} is ${theirs} in the database, and ${JSON.stringify(shown)} in the study`];
  });
  return [...others, ...treatmentsProblem(settings.get('treatments'), map, design)];
}

function comparable(name: string, text: string): string {
  if (name === 'D' || name === 'urn_selection') return JSON.stringify(text);
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(name === 'factors' ? inOrderOfName(Object.entries(value as object)) : value);
  } catch {
    return text;
  }
}

/** The order of an object's members is lost where names look like numbers. */
function inOrderOfName(factors: [string, unknown][]): [string, unknown][] {
  return factors.sort(([a], [b]) => (a < b ? -1 : 1));
}

function treatmentsProblem(text: string | undefined, map: TreatmentMap, design: Design): string[] {
  if (text === undefined) return [];
  const theirs = listedNames(text);
  const problem = theirs
    ? setupProblem(theirs, map, design)
    : `treatments is ${text} in the database, which is not a list`;
  return problem === undefined ? [] : [problem];
}

function listedNames(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.map(String) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Why the treatments that the other system was set up with are not those of the study. Rows are drawn again with its slots
 * in this order.
 * @param theirs as it has them
 */
function setupProblem(
  theirs: readonly string[],
  map: TreatmentMap,
  { slots }: Pick<Design, 'slots'>,
): string | undefined {
  const called = theirs.map((name) => map.get(name)?.to ?? name);
  if (called.join('\n') !== slots.join('\n'))
    return `treatments is ${JSON.stringify(theirs)} in the database, and ${JSON.stringify(slots)} in the study`;
  const misplaced = theirs.some((name, place) => (map.get(name)?.slot ?? place) !== place);
  return misplaced
    ? `--treatment-map gives the slots of an arm in another order than the database (hint: the order there is ${theirs.map(quote).join(', ')})`
    : undefined;
}

/** An arm has one name in the file, or one for each of its slots. */
function mapProblems(map: TreatmentMap, design: Pick<Design, 'treatments' | 'slots'>): string[] {
  const targets = [...map.values()].map(({ to }) => to);
  return [...new Set(targets)].flatMap((to) => {
    if (!design.treatments.includes(to)) return [`--treatment-map: the study has no treatment ${quote(to)}`];
    const names = targets.filter((one) => one === to).length;
    const slots = slotsOf(design, to).length;
    if (names === 1 || names === slots) return [];
    return slots === 1
      ? [`--treatment-map: several names stand for ${quote(to)}, which has one slot`]
      : [
          `--treatment-map: ${names} names stand for ${quote(to)}, which has ${counted(slots, 'slot')} (hint: one for each slot, or one in all)`,
        ];
  });
}

/** Longer than any state. */
const MAX_STATE_LENGTH = 1000;

/** A member given twice is one too many. */
const STATE_MEMBERS = 6;

/** The strings and integers of both forms. No string of a state needs an escape, and none has the sign of an integer. */
const STATE_SCALAR = /'([^'"\\#]*)'|"([^"\\#]*)"|(\d+)/g;

/** An integer, kept as text: it may be larger than a double holds exactly. */
const Integer = z
  .string()
  .regex(/^#(0|[1-9]\d{0,38})$/)
  .transform((text) => text.slice(1));

const StateInFile = z.strictObject({
  bit_generator: z.literal('PCG64'),
  state: z.strictObject({ state: Integer, inc: Integer }),
  has_uint32: Integer,
  uinteger: Integer,
});

/**
 * Reads the generator's state as the reference writes it: a Python dict in a CSV file, JSON in a database. Reads strings,
 * whole numbers and dicts, and evaluates nothing.
 * @returns undefined if the text is not a state that a PCG64 can have
 */
export function readBgState(text: string): BgState | undefined {
  if (text.length > MAX_STATE_LENGTH || text.includes('#')) return undefined;
  const json = text.replaceAll(STATE_SCALAR, (_, single?: string, double?: string, digits?: string) =>
    JSON.stringify(digits === undefined ? (single ?? double) : `#${digits}`),
  );
  if (json.split(':').length - 1 !== STATE_MEMBERS) return undefined;
  try {
    const { state, has_uint32, uinteger } = StateInFile.parse(JSON.parse(json));
    return Pcg64.restore({
      bit_generator: 'PCG64',
      has_uint32: Number(has_uint32) as 0 | 1,
      state: { inc: state.inc, state: state.state },
      uinteger: Number(uinteger),
    }).snapshot();
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError || error instanceof RangeError)
      return undefined;
    throw error;
  }
}
