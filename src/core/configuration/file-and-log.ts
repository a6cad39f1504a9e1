/**
 * How each study of a studies file compares with the log: once, in words, or for as long as a process runs, because the study
 * can be amended meanwhile. While they differ, the study is suspended in that process.
 */
import type { StudyConfiguration } from '../../../events/study.ts';
import type { Design } from '../model/design.ts';
import type { Studies, Study } from '../study/studies.ts';
import { type Comparison, compare, describeComparison } from './differences.ts';
import type { StudiesFile } from './studies-file.ts';
import type { ConfiguredStudy } from './study.ts';

export interface FileOutcome {
  readonly study: string;
  readonly outcome: 'new' | 'as registered' | 'as amended' | 'behind' | 'differs';
  /** Number of the last amendment; left out if there is none. */
  readonly amendment?: number;
  /** Each with its line in the file, then what to do. */
  readonly differences: readonly string[];
  /** As in the file, with defaults. */
  readonly configuration: StudyConfiguration;
  readonly seedSource: 'configured' | 'drawn';
  /** Whether the study is live because the file leaves the mode out. */
  readonly liveByDefault: boolean;
}

/** A study in the log. */
export interface StudyInLog extends Pick<Study, 'registered'> {
  readonly designs: readonly Design[];
}

/** @param recorded the study in the log; undefined if it is new */
export function outcomeOf(
  file: ConfiguredStudy,
  recorded: StudyInLog | undefined,
  { liveByDefault }: Pick<StudiesFile, 'liveByDefault'>,
): FileOutcome {
  const { configuration, seed } = file;
  const { name } = configuration;
  return {
    study: name,
    ...comparedWithLog(file, recorded),
    configuration,
    seedSource: seed === undefined ? 'drawn' : 'configured',
    liveByDefault: liveByDefault.includes(name),
  };
}

function comparedWithLog(
  file: ConfiguredStudy,
  recorded: StudyInLog | undefined,
): Pick<FileOutcome, 'outcome' | 'amendment' | 'differences'> {
  if (!recorded) return { outcome: 'new', differences: [] };
  const { registered, designs } = recorded;
  const comparison = compare(registered, designs, file);
  const amendment = designs.at(-1)?.amendment ?? 0;
  const { differences } = comparison;
  return {
    outcome: outcomeInWords(comparison, amendment),
    ...(amendment > 0 && { amendment }),
    // The last text says what to do, and is about all of them.
    differences: describeComparison(comparison, { secrets: 'show' }).map((text, i) => {
      const difference = differences[i];
      return difference ? `${file.file}:${file.lineOf(difference.what)}: ${text}` : text;
    }),
  };
}

function outcomeInWords({ result }: Comparison, amendment: number): FileOutcome['outcome'] {
  if (result !== 'agrees') return result;
  return amendment > 0 ? 'as amended' : 'as registered';
}

/**
 * Suspends the study in this process while the file differs: it then takes no participants here. An amendment by any process
 * ends this if the file describes the new design.
 * @returns how they compare now; undefined if the study is not registered
 */
export function suspendWhileDiffering(studies: Studies, file: ConfiguredStudy): Comparison | undefined {
  const { name } = file.configuration;
  const stream = studies.streamOf(name);
  let last: { readonly designs: readonly Design[]; readonly comparison: Comparison } | undefined;
  const compareNow = (): Comparison | undefined => {
    const designs = studies.designs(stream);
    const registered = studies.find(name)?.registered;
    if (!registered) return undefined;
    // This is asked for every participant, so it is worked out once for each design.
    if (last?.designs !== designs) last = { designs, comparison: compare(registered, designs, file) };
    return last.comparison;
  };
  studies.suspendWhile(stream, () => compareNow()?.result === 'differs');
  return compareNow();
}
