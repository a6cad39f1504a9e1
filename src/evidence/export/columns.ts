/**
 * The list of participants for statisticians: its columns, and the lines of CSV that they give. One row is one participant,
 * as known now. With the list come a data dictionary, and how to read it with R and with SAS.
 */
import { VoidCause } from '../../../events/corrections.ts';
import { guarded } from '../../base/text.ts';
import type { Design } from '../../core/model/design.ts';
import {
  currentId,
  currentLevels,
  type Participant,
  type PresentPack,
  presentPacks,
} from '../../core/model/participants.ts';

interface Column {
  readonly name: string;
  readonly meaning: string;
  /** `category`: one of the levels. */
  readonly type: 'integer' | 'text' | 'category' | 'instant';
  /** All values that the column may have, in the order of the study. */
  readonly levels?: readonly string[];
  readonly of: (participant: Participant) => string;
}

export interface TableOptions {
  /** Without the arms. */
  readonly isBlinded: boolean;
  /** Texts that a spreadsheet would take for formulas are guarded. */
  readonly isForExcel?: boolean;
  /** Whether the study ever declared a visit, or gave out a pack at one. */
  readonly hasVisits?: boolean;
}

/** In the order of the file. */
export function columnsOf(design: Design, options: TableOptions): Column[] {
  const columns = [...idColumns(), ...factorColumns(design), ...allocationColumns(design)];
  const left = [...(options.isBlinded ? [TREATMENT] : []), ...(options.hasVisits ? [] : [PACKS])];
  const shown = columns.filter(({ name }) => !left.includes(name));
  return options.isForExcel ? shown.map(guardedColumn) : shown;
}

/** The names of no other columns: those of factors begin with a prefix. */
const TREATMENT = 'treatment';
const PACKS = 'packs';

function idColumns(): Column[] {
  return [
    {
      name: 'sequence',
      meaning: 'Place in the order of randomization: 1, 2, …',
      type: 'integer',
      of: ({ sequence }) => String(sequence),
    },
    {
      name: 'revision',
      meaning: "Revision of the record in the study's log that enrolled the participant",
      type: 'integer',
      of: ({ revision }) => String(revision),
    },
    { name: 'id', meaning: 'Id in use', type: 'text', of: currentId },
    {
      name: 'id_as_randomized',
      meaning: 'Id under which the participant was randomized',
      type: 'text',
      of: ({ participantId }) => participantId,
    },
  ];
}

function factorColumns({ factors }: Design): Column[] {
  return [
    ...factors.map(({ name, levels, isRetired }, i): Column => {
      const of = (participant: Participant) => currentLevels(participant)[i] ?? '';
      const meaning = `Level of the factor ${name}, with all corrections${isRetired ? RETIRED_REMARK : ''}`;
      return { name: `f_${name}`, meaning, type: 'category', levels, of };
    }),
    ...factors.map(({ name, levels, isRetired }, i): Column => {
      const of = (participant: Participant) => participant.levels[i] ?? '';
      const meaning = `Level of the factor ${name} when the participant was randomized${isRetired ? RETIRED_REMARK : ''}`;
      return { name: `randomized_f_${name}`, meaning, type: 'category', levels, of };
    }),
  ];
}

const RETIRED_REMARK = '; empty for those who came after the factor was retired';

function allocationColumns({ treatments }: Design): Column[] {
  return [
    {
      name: TREATMENT,
      meaning: 'Arm',
      type: 'category',
      levels: treatments,
      of: ({ treatment }) => treatment,
    },
    {
      name: 'randomized_at',
      meaning: 'When the allocation was recorded, in UTC',
      type: 'instant',
      of: ({ at }) => at,
    },
    {
      name: 'occurred_at',
      meaning: 'When the allocation was made, if it was entered by hand; otherwise empty',
      type: 'instant',
      of: ({ occurredAt }) => occurredAt ?? '',
    },
    {
      name: 'user',
      meaning: 'User of the API key that randomized the participant',
      type: 'text',
      of: ({ user }) => user,
    },
    {
      name: 'on_behalf_of',
      meaning: 'Who used that key, as the client named them; empty if it named nobody',
      type: 'text',
      of: ({ onBehalfOf }) => onBehalfOf ?? '',
    },
    {
      name: 'kind',
      meaning:
        'How the arm came about; drawn: from an urn of the study; forced: outside the service, and entered by hand; imported: by another system',
      type: 'category',
      levels: ['drawn', 'forced', 'imported'],
      of: ({ original, forced }) => (original ? 'imported' : forced ? 'forced' : 'drawn'),
    },
    {
      name: 'voided_cause',
      meaning: 'Why the allocation is voided; empty if it is not',
      type: 'category',
      levels: VoidCause.options,
      of: ({ corrected }) => corrected?.voided?.cause ?? '',
    },
    {
      name: 'pack_code',
      meaning: 'Code of the pack that the participant has; empty without one',
      type: 'text',
      of: ({ pack }) => pack?.code ?? '',
    },
    {
      name: PACKS,
      meaning:
        'Packs of visits that the participant has, in the order in which they were given out: visit=code; visit=code',
      type: 'text',
      of: (participant) => packsText(presentPacks(participant)),
    },
  ];
}

/** `V2=104233; V3=104518` */
export function packsText(packs: readonly Pick<PresentPack, 'visit' | 'code'>[]): string {
  return packs.map(({ visit, code }) => `${visit}=${code}`).join('; ');
}

function guardedColumn(column: Column): Column {
  const { levels, of, ...rest } = column;
  return {
    ...rest,
    ...(levels && { levels: levels.map(guarded) }),
    of: (participant) => guarded(of(participant)),
  };
}

export function headLine(columns: readonly Column[]): string {
  return csvLine(columns.map(({ name }) => name));
}

export function rowLines(columns: readonly Column[], participants: readonly Participant[]): string {
  return participants.map((participant) => csvLine(columns.map((column) => column.of(participant)))).join('');
}

/**
 * A line of comma-separated values, of any file: RFC 4180, which is also what Python's csv module and pandas write and read.
 * @param end RFC 4180 has CRLF, pandas writes LF
 */
export function csvLine(cells: readonly string[], end: '\r\n' | '\n' = '\r\n'): string {
  return cells.map(quotedCell).join(',') + end;
}

function quotedCell(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** The levels are a JSON array, because any sign between them could be part of one. */
export function dictionary(columns: readonly Column[], isForExcel: boolean): string {
  const lines = columns.map(({ name, meaning, type, levels }) => [
    ...[name, isForExcel ? guarded(meaning) : meaning, type],
    levels ? JSON.stringify(levels) : '',
  ]);
  return [['name', 'meaning', 'type', 'levels'], ...lines].map((line) => csvLine(line)).join('');
}

/** @param file name of the list, without its folder */
export function rScript(columns: readonly Column[], file: string): string {
  const vector = (texts: readonly string[]) => `c(${texts.map(inR).join(', ')})`;
  const conversions = columns.flatMap(({ name, type, levels }) => {
    const column = `participants[[${inR(name)}]]`;
    if (type === 'instant')
      return [`${column} <- as.POSIXct(${column}, format = "%Y-%m-%dT%H:%M:%OSZ", tz = "UTC")`];
    return levels ? [`${column} <- factor(${column}, levels = ${vector(levels)})`] : [];
  });
  return `# Run it in the folder of the file. Ids are text, so they keep their zeros, and "NA" is a text like any other.
participants <- read.csv(
  ${inR(file)},
  header = FALSE, skip = 1,
  col.names = ${vector(columns.map(({ name }) => name))},
  check.names = FALSE,
  colClasses = ${vector(columns.map(({ type }) => R_CLASSES[type]))},
  na.strings = character(0),
  encoding = "UTF-8"
)
${conversions.join('\n')}
`;
}

const R_CLASSES = { integer: 'integer', text: 'character', category: 'character', instant: 'character' };

/** A string of R in ASCII, so that it means the same in every locale. */
function inR(text: string): string {
  const escaped = [...text].map((character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    const point = character.codePointAt(0) ?? 0;
    return point >= 0x20 && point < 0x7f ? character : `\\U{${point.toString(16)}}`;
  });
  return `"${escaped.join('')}"`;
}

/**
 * Formats of text are $CHAR: with others, SAS takes a single period for nothing.
 * @param file name of the list, without its folder
 */
export function sasScript(
  columns: readonly Column[],
  participants: readonly Participant[],
  file: string,
): string {
  const names = sasNames(columns);
  const each = (line: (column: Column, name: string) => string | undefined) =>
    columns.flatMap((column, i) => line(column, names[i] ?? '') ?? []).join('\n');
  const informats = each(({ type, of, levels }, name) => {
    if (type === 'integer') return undefined;
    if (type === 'instant') return `  informat ${name} e8601dz24.3; format ${name} e8601dz24.3;`;
    return `  informat ${name} $char${longest(levels ?? participants.map(of))}.;`;
  });
  return `/* Run it in the folder of the file, in a session with encoding UTF-8. Ids are text, so they keep their zeros. */
data participants;
  infile ${inSas(file)} dsd dlm=',' firstobs=2 truncover encoding='utf-8' termstr=crlf lrecl=1048576;
${informats}
  input ${names.join(' ')};
${each(({ name }, variable) => `  label ${variable} = ${inSas(name)};`)}
run;
`;
}

/** In bytes. */
function longest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, Buffer.byteLength(text)), 1);
}

/** A variable of SAS has at most 32 characters of [A-Za-z0-9_], whose case does not matter. */
function sasNames(columns: readonly Column[]): string[] {
  const names = columns.map(({ name }) => name);
  const isFit = names.every((name) => /^[A-Za-z_][A-Za-z0-9_]{0,31}$/.test(name));
  if (isFit && new Set(names.map((name) => name.toLowerCase())).size === names.length) return names;
  const numbers = { f_: 0, randomized_f_: 0 };
  return names.map((name) => {
    const prefix = (['f_', 'randomized_f_'] as const).find((one) => name.startsWith(one));
    return prefix === undefined ? name : `${prefix}${++numbers[prefix]}`;
  });
}

/** In single quotes, SAS resolves no macros. */
function inSas(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
