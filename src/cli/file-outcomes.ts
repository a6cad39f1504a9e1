/** How the studies of a file compare with those in the log, in words. Shared by urn studies check and register. */
import type { StudyConfiguration } from '../../events/study.ts';
import { protocolText, ratioText, visitsText } from '../../projections/describe-design.ts';
import { type Design, registeredDesign } from '../../projections/design.ts';
import { counted } from '../base/counted.ts';
import { quote } from '../base/text.ts';
import { type Comparison, compare, describeComparison } from '../core/configuration/differences.ts';
import type { StudiesFile } from '../core/configuration/studies-file.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import type { Study } from '../core/study/studies.ts';
import { blindingText, limitRows, policiesText } from './design-text.ts';
import { table } from './output.ts';

/** A study in the log. */
export interface Recorded extends Pick<Study, 'registered'> {
  readonly designs: readonly Design[];
}

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

/** @param recorded the study in the log; undefined if it is new */
export function outcomeOf(
  file: ConfiguredStudy,
  recorded: Recorded | undefined,
  { liveByDefault }: Pick<StudiesFile, 'liveByDefault'>,
): FileOutcome {
  const { configuration, seed } = file;
  const { name } = configuration;
  return {
    study: name,
    ...compared(file, recorded),
    configuration,
    seedSource: seed === undefined ? 'drawn' : 'configured',
    liveByDefault: liveByDefault.includes(name),
  };
}

function compared(
  file: ConfiguredStudy,
  recorded: Recorded | undefined,
): Pick<FileOutcome, 'outcome' | 'amendment' | 'differences'> {
  if (!recorded) return { outcome: 'new', differences: [] };
  const { registered, designs } = recorded;
  const comparison = compare(registered, designs, file);
  const amendment = designs.at(-1)?.amendment ?? 0;
  const { differences } = comparison;
  return {
    outcome: inWords(comparison, amendment),
    ...(amendment > 0 && { amendment }),
    // The last text says what to do, and is about all of them.
    differences: describeComparison(comparison, { secrets: 'show' }).map((text, i) => {
      const difference = differences[i];
      return difference ? `${file.file}:${file.lineOf(difference.what)}: ${text}` : text;
    }),
  };
}

function inWords({ standing }: Comparison, amendment: number): FileOutcome['outcome'] {
  if (standing !== 'agrees') return standing;
  return amendment > 0 ? 'as amended' : 'as registered';
}

export function outcomeText(of: FileOutcome): string {
  const lines =
    of.outcome === 'new' ? ['would be registered as', ...registration(of).split('\n')] : of.differences;
  const heading = [
    `${of.study}: ${of.outcome}`,
    ...(of.amendment === undefined ? [] : [`amendment ${of.amendment}`]),
  ];
  return [heading.join(', '), ...lines.map((line) => `  ${line}`)].join('\n');
}

function registration({ configuration, seedSource, liveByDefault }: FileOutcome): string {
  const { mode, treatments, factors, D, w, alpha, beta, urnSelection, idPattern, targetEnrollment } =
    configuration;
  const { start, protocol, ratio, visits } = configuration;
  const design = registeredDesign(configuration);
  const byDefault =
    ' (the file leaves mode out, so it registers as live; write "mode: test" for a rehearsal)';
  const names = (list: readonly string[]) => list.map(quote).join(', ');
  return table([
    ['mode', `${mode}${liveByDefault ? byDefault : ''}`],
    ['blinding', blindingText(design)],
    ...(start === undefined ? [] : [['start', 'paused: urn studies resume opens it']]),
    ['arms', names(treatments)],
    ...(ratio ? [['ratio', ratioText(treatments, ratio)]] : []),
    ...factors.map(({ name, levels }) => [`factor ${quote(name)}`, names(levels)]),
    ['urn', `D=${D} w=${w} alpha=${alpha} beta=${beta} urn_selection=${urnSelection}`],
    ['seed', seedSource === 'drawn' ? 'drawn from the operating system' : 'given in the file'],
    ...(idPattern === undefined ? [] : [['id pattern', idPattern]]),
    ...(targetEnrollment === undefined ? [] : [['target', counted(targetEnrollment, 'participant')]]),
    ...limitRows(design),
    ['policies', policiesText(design)],
    ...(visits ? [['visits', visitsText(visits)]] : []),
    ...(protocol ? [['protocol', protocolText(protocol)]] : []),
  ]);
}
