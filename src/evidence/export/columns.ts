/** The columns of the list of participants for statisticians. One row is one participant, as known now. */
import { VoidCause } from '../../../events/corrections.ts';
import { guarded } from '../../base/text.ts';
import type { Design } from '../../core/model/design.ts';
import type { Participant } from '../../core/model/participants.ts';
import { currentId, currentLevels, type PresentPack, presentPacks } from '../../core/model/participants.ts';
import { csvLine } from './csv.ts';

export interface Column {
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

const RETIRED = '; empty for those who came after the factor was retired';

function factorColumns({ factors }: Design): Column[] {
  return [
    ...factors.map(({ name, levels, isRetired }, i): Column => {
      const of = (participant: Participant) => currentLevels(participant)[i] ?? '';
      const meaning = `Level of the factor ${name}, with all corrections${isRetired ? RETIRED : ''}`;
      return { name: `f_${name}`, meaning, type: 'category', levels, of };
    }),
    ...factors.map(({ name, levels, isRetired }, i): Column => {
      const of = (participant: Participant) => participant.levels[i] ?? '';
      const meaning = `Level of the factor ${name} when the participant was randomized${isRetired ? RETIRED : ''}`;
      return { name: `randomized_f_${name}`, meaning, type: 'category', levels, of };
    }),
  ];
}

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
