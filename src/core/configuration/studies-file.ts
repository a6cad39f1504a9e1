/**
 * The studies file: reads its text into studies, each sound or not, with every finding at its line. At the end, the rules that
 * only studies new to the log must obey: for a new study it does no harm to choose something else.
 */
import type { StudyConfiguration } from '../../../events/study.ts';
import { isTooLong, lookAlikeProblem, MAX_NAME_CHARACTERS, quote } from '../../base/text.ts';
import { nearestTo } from '../../base/wording.ts';
import { ratioProblem } from '../model/design.ts';
import { linearPatternProblem } from '../model/participant-id.ts';
import type { RegisteredConfiguration } from './differences.ts';
import { type Finding, findingsOf, hinted, type Note, type Problem, StudiesFileError } from './finding.ts';
import { URN } from './settings.ts';
import { type ConfiguredStudy, type ReadStudy, readStudy, STUDY_KEYS } from './study.ts';
import { warnAbout } from './warnings.ts';
import { type Mapping, type RefuseAt, readMembers, readYaml, type Value } from './yaml.ts';

export type StudiesFile = {
  /** In the order of the file. */
  readonly studies: ConfiguredStudy[];
  /** In the order of the file. */
  readonly warnings: Finding[];
  /** Names of the studies without a mode. */
  readonly liveByDefault: string[];
};

/** A file with all its problems, in the order of the file. */
export type CheckedStudiesFile = StudiesFile & {
  /** Why the file is refused; none if it is accepted. Then `unsound` is empty, too. */
  readonly refusals: Finding[];
  /** Studies that cannot be read as they were meant: what they lack is missing. They are not among `studies`. */
  readonly unsound: ConfiguredStudy[];
};

/**
 * Reads the text of a studies file (decoded from UTF-8; a byte order mark is allowed). Findings use `fileName` to refer to
 * the file.
 *
 * @throws StudiesFileError with every reason why the file is refused
 */
export function parseStudiesFile(text: string, fileName: string): StudiesFile {
  const file = checkStudiesFile(text, fileName);
  if (file.refusals.length > 0) throw new StudiesFileError(file.refusals);
  return file;
}

/** Like `parseStudiesFile`, but says what is wrong and goes on. */
export function checkStudiesFile(text: string, fileName: string): CheckedStudiesFile {
  const refusals = findingsOf(fileName);
  const warnings = findingsOf(fileName);
  const { sound, unsound } = readStudies(text, refusals);
  for (const study of sound) warnAbout(study, warnings.note);
  return {
    studies: sound.map((study) => asConfigured(study, fileName)),
    warnings: warnings.sorted(),
    liveByDefault: sound
      .filter(({ isGiven }) => !isGiven('mode'))
      .map(({ configuration }) => configuration.name),
    refusals: refusals.sorted(),
    unsound: unsound.map((study) => asConfigured(study, fileName)),
  };
}

/** In UTF-16 code units. The file is written by hand. A thousand studies fit. */
const MAX_FILE_LENGTH = 1_048_576;
/** `db` belongs to the reference implementation, whose files load unchanged. It is ignored. */
const TOP_LEVEL_KEYS: readonly string[] = ['db', ...Object.keys(URN)];

interface ReadStudies {
  readonly sound: readonly ReadStudy[];
  readonly unsound: readonly ReadStudy[];
}
const NO_STUDIES: ReadStudies = { sound: [], unsound: [] };

function readStudies(text: string, { note, count }: ReturnType<typeof findingsOf>): ReadStudies {
  if (text.length > MAX_FILE_LENGTH) {
    note(1, 'the file is longer than a million characters (hint: is it the right file?)');
    return NO_STUDIES;
  }
  const yaml = readYaml(text, note);
  if (!yaml) return NO_STUDIES;
  const { root, lineOf } = yaml;
  if (root === null) return refuseEmpty(note);
  if (!(root instanceof Map)) {
    note(
      lineOf([]),
      'the file is not a mapping from names to studies (hint: write each study as "name:" with its settings indented below)',
    );
    return NO_STUDIES;
  }
  const refuse: RefuseAt = (path, message) => note(lineOf(path), message);
  const named = [...root].filter((entry): entry is [string, Mapping] => entry[1] instanceof Map);
  const rest = new Map([...root].filter(([, value]) => !(value instanceof Map)));
  const urn = readMembers(rest, URN, refuse);
  const unknown = [...rest].filter(([key]) => !TOP_LEVEL_KEYS.includes(key));
  for (const [key, value] of unknown) refuse([key], unknownAtTop(key, value));
  if (named.length === 0 && unknown.length === 0) return refuseEmpty(note);
  // A problem outside the studies may change the meaning of any of them.
  const isFileSound = count() === 0;
  const [sound, unsound]: [ReadStudy[], ReadStudy[]] = [[], []];
  for (const [name, written] of named) {
    const before = count();
    const study = readStudy(name, written, { urn, lineOf }, refuse);
    (isFileSound && count() === before ? sound : unsound).push(study);
  }
  return { sound, unsound };
}

function refuseEmpty(note: Note): ReadStudies {
  note(
    1,
    'the file names no study (hint: add one: its name at the top level, treatments and factors indented below)',
  );
  return NO_STUDIES;
}

function unknownAtTop(key: string, value: Value): string {
  if (STUDY_KEYS.includes(key))
    return `${key} is outside a study (hint: indent it below the name of its study)`;
  if (value === null)
    return `${quote(key)} has nothing below it (hint: a study needs its treatments and factors below its name, indented)`;
  const nearest = nearestTo(key, TOP_LEVEL_KEYS);
  const hint = nearest
    ? `did you mean ${nearest}?`
    : `the top level has studies and ${TOP_LEVEL_KEYS.join(', ')}`;
  return `unknown key ${quote(key)} at the top level (hint: ${hint})`;
}

function asConfigured({ isGiven: _, ...study }: ReadStudy, file: string): ConfiguredStudy {
  const ifNew = findingsOf(file);
  noteProblemsIfNew(study, ifNew.note);
  return { ...study, file, refusedIfNew: ifNew.sorted() };
}

/** Notes what refuses the study if it is new to the log. */
function noteProblemsIfNew({ configuration, lineOf }: Omit<ReadStudy, 'isGiven'>, note: Note): void {
  const { name, idPattern, treatments, ratio } = configuration;
  const refuse = (setting: string, message: string) =>
    note(lineOf(setting), `study ${quote(shortened(name))}: ${message}`);
  for (const problem of problemsOfNewNames(configuration)) refuse('', hinted(problem));
  const ofRatio = ratio && ratioProblem(treatments, ratio);
  if (ofRatio !== undefined)
    refuse(
      'ratio',
      `the ratio is not possible: ${ofRatio} (hint: write the smallest whole numbers, with a sum of at most 40)`,
    );
  const ofPattern = idPattern === undefined ? undefined : linearPatternProblem(idPattern);
  if (ofPattern)
    refuse(
      'id_pattern',
      `id_pattern ${ofPattern.reason}, which a new study cannot have (hint: ${ofPattern.hint})`,
    );
}

/** What is wrong with the names of a new study. */
function problemsOfNewNames(configuration: StudyConfiguration): Problem[] {
  const invalid = lookAlikeProblem(configuration.name);
  return [
    ...(invalid === undefined
      ? []
      : [{ reason: `its name ${invalid}`, hint: 'choose a name that nobody can mistake for another' }]),
    ...namesIn(configuration)
      .filter(([, name]) => isTooLong(name))
      .map(([what]) => ({
        reason: `${what} has more than ${MAX_NAME_CHARACTERS} characters`,
        hint: 'choose a shorter one',
      })),
  ];
}

/** Each name, and how a message refers to it. Treatments are never named. */
function namesIn({ name, treatments, factors }: StudyConfiguration): [what: string, name: string][] {
  return [
    ['its name', name],
    ...treatments.map((treatment, i): [string, string] => [`treatment ${i + 1}`, treatment]),
    ...factors.flatMap((factor, i): [string, string][] => [
      [`the name of factor ${i + 1}`, factor.name],
      ...factor.levels.map((level, j): [string, string] => [`level ${j + 1} of factor ${i + 1}`, level]),
    ]),
  ];
}

export function shortened(name: string): string {
  return name.length > MAX_NAME_CHARACTERS ? `${[...name].slice(0, 40).join('')}…` : name;
}

/** What the log makes of the new studies of a file. */
export interface Judgement {
  readonly refusals: readonly Finding[];
  readonly warnings: readonly Finding[];
}

/** @param registered the studies in the log */
export function judgeNewStudies(
  configured: readonly ConfiguredStudy[],
  isNew: (name: string) => boolean,
  registered: readonly RegisteredConfiguration[],
): Judgement {
  const added = configured.filter(({ configuration }) => isNew(configuration.name));
  const { refusals, warnings } = sharedSeeds(added, configured, registered);
  return { refusals: [...added.flatMap(({ refusedIfNew }) => refusedIfNew), ...refusals], warnings };
}

/**
 * @param registered the studies in the log
 * @returns warnings about new studies that the log makes possible
 * @throws StudiesFileError naming everything in the file that new studies cannot have
 */
export function refuseNewStudies(
  configured: readonly ConfiguredStudy[],
  isNew: (name: string) => boolean,
  registered: readonly RegisteredConfiguration[],
): readonly Finding[] {
  const { refusals, warnings } = judgeNewStudies(configured, isNew, registered);
  if (refusals.length > 0) throw new StudiesFileError(refusals);
  return warnings;
}

/**
 * Two studies with one seed draw the same numbers. A test with the seed of a live study, or the other way round, is a
 * rehearsal of the live allocations.
 */
function sharedSeeds(
  added: readonly ConfiguredStudy[],
  configured: readonly ConfiguredStudy[],
  registered: readonly RegisteredConfiguration[],
): Judgement {
  const known = [
    ...configured.flatMap(({ configuration, seed }) => (seed === undefined ? [] : { configuration, seed })),
    ...registered.map(({ configuration, seed }) => ({ configuration, seed: BigInt(seed) })),
  ];
  const refusals: Finding[] = [];
  const warnings: Finding[] = [];
  for (const { configuration, seed, lineOf, file } of added) {
    const { name, mode } = configuration;
    const others = known.filter((one) => one.seed === seed && one.configuration.name !== name);
    const other = others.find((one) => one.configuration.mode !== mode) ?? others[0];
    if (!other) continue;
    const isRehearsal = other.configuration.mode !== mode;
    const whose = `${other.configuration.mode} study ${quote(shortened(other.configuration.name))}`;
    const message = `study ${quote(shortened(name))}: starting_seed is that of the ${whose}, so both draw the same numbers (hint: leave it out, and the service draws 128 random bits)`;
    (isRehearsal ? refusals : warnings).push({ file, line: lineOf('starting_seed'), message });
  }
  return { refusals, warnings };
}
