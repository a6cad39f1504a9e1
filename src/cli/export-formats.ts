/** The files that urn export writes, by format. */

import type { Content } from '../../events/record.ts';
import { counted } from '../base/wording.ts';
import type { Model } from '../core/model/model.ts';
import { generatorOf } from '../core/model/model.ts';
import type { Participant } from '../core/model/participants.ts';
import { columnsOf, dictionary, headLine, rowLines, rScript, sasScript } from '../evidence/export/columns.ts';
import {
  byCounting,
  checkReference,
  DRAWN_MORE,
  eatenNames,
  notCountedCsv,
  problemsOfReference,
  referenceCsv,
  trueTimes,
} from '../evidence/export/reference.ts';
import { UsageError } from './options.ts';

/** A study at a revision. */
export interface ExportedStudy {
  readonly state: Model;
  /** In the order of randomization. */
  readonly participants: readonly Participant[];
  readonly revision: number;
}

export interface FormatOptions {
  readonly blinded?: boolean;
  readonly excel?: boolean;
  readonly out?: string;
}

export interface ExportText {
  readonly text: string;
  /** Further files, by what is appended to the name of the first. They are written with --out only. */
  readonly companions: Readonly<Record<string, string>>;
  /** How many participants are in the file. */
  readonly participants: number;
  /** For the JSON of the command. */
  readonly facts: Readonly<Record<string, number>>;
  /** Sentences for the person who reads the output. */
  readonly remarks: readonly string[];
  readonly warnings: readonly string[];
}

interface Format {
  /** How much the file shows of the study, which also decides its name. */
  contentOf(options: FormatOptions): Content;
  /** @param file name of the file, without its folder */
  write(exported: ExportedStudy, options: FormatOptions, file: string): ExportText;
}

export const FORMATS: Readonly<Record<'csv' | 'reference-csv', Format>> = {
  csv: { contentOf: ({ blinded }) => (blinded ? 'blinded' : 'open'), write: writeList },
  'reference-csv': {
    contentOf: ({ blinded, excel }) => {
      if (blinded)
        throw new UsageError('a reference-csv contains arms and generator states, so it cannot be --blinded');
      if (excel) throw new UsageError('--excel is for csv: the reference would read the apostrophes as data');
      return 'full';
    },
    write: writeHistory,
  },
};

function writeList({ state, participants }: ExportedStudy, options: FormatOptions, file: string): ExportText {
  const { blinded: isBlinded = false, excel: isForExcel = false } = options;
  const { design, hasVisits } = state;
  const columns = columnsOf(design, { isBlinded, isForExcel, hasVisits });
  return {
    text: headLine(columns) + rowLines(columns, participants),
    companions: {
      '.dictionary.csv': dictionary(columns, isForExcel),
      '.R': rScript(columns, file),
      '.sas': sasScript(columns, participants, file),
    },
    participants: participants.length,
    facts: {},
    remarks: [],
    warnings: [],
  };
}

/** @throws UsageError listing every reason against it */
function writeHistory({ state, participants }: ExportedStudy, { out }: FormatOptions): ExportText {
  const { design, counts } = state;
  const bgState = generatorOf(state);
  const { counted: inUrns, others } = byCounting(participants, design);
  const problems = problemsOfReference(design, participants, bgState);
  if (others.length > 0 && out === undefined)
    problems.push(
      `${counted(others.length, 'participant is', 'participants are')} not counted and must have a file of their own: give --out`,
    );
  if (problems.length > 0)
    throw new UsageError(['the reference could not continue from this study:', ...problems].join('\n  '));
  const text = referenceCsv(design, inUrns);
  checkReference(design, text, { counts, bgState });
  const notCounted = '.not-counted.csv';
  return {
    text,
    companions: {
      '.at.csv': trueTimes(inUrns),
      ...(others.length > 0 && { [notCounted]: notCountedCsv(design, others) }),
    },
    participants: inUrns.length,
    facts: { notCounted: others.length, drawnMore: DRAWN_MORE },
    remarks: [
      `read again: the next ${DRAWN_MORE} participants get the same arms and states from the file as in the study`,
      ...(others.length > 0
        ? [
            `${counted(others.length, 'participant who is not counted is', 'participants who are not counted are')} left out, and in the file that ends in ${notCounted}`,
          ]
        : []),
    ],
    warnings: eatenNames(design).map(
      ([name, eaten]) =>
        `some versions of the reference record the arm ${JSON.stringify(name)} as ${JSON.stringify(eaten)} when they draw it, and then do not count it`,
    ),
  };
}
