import { nearestTo } from '../../base/nearest.ts';
import { quote } from '../../base/text.ts';
import { type Finding, findingsOf, type Refuse, StudiesFileError } from './finding.ts';
import { noteIfNew } from './new-studies.ts';
import { type ConfiguredStudy, type ReadStudy, readStudy, STUDY_KEYS } from './study.ts';
import { BUILT_IN, readUrnSettings, URN_KEYS } from './urn-settings.ts';
import { warnAbout } from './warnings.ts';
import { type Entry, isMissing, readYaml } from './yaml-tree.ts';

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

/** In UTF-16 code units. The file is written by hand. A thousand studies fit. */
const MAX_FILE_LENGTH = 1_048_576;
/** `db` belongs to the reference implementation, whose files load unchanged. It is ignored. */
const TOP_LEVEL_KEYS: readonly string[] = ['db', ...URN_KEYS];

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
  const { sound, unsound } = readStudies(text, refusals.note);
  for (const study of sound) warnAbout(study, warnings.note);
  return {
    studies: sound.map((study) => configured(study, fileName)),
    warnings: warnings.sorted(),
    liveByDefault: sound
      .filter(({ lines }) => !lines.has('mode'))
      .map(({ configuration }) => configuration.name),
    refusals: refusals.sorted(),
    unsound: unsound.map((study) => configured(study, fileName)),
  };
}

function configured(study: ReadStudy, fileName: string): ConfiguredStudy {
  const { configuration, levelCounts, seed, line, lines } = study;
  const ifNew = findingsOf(fileName);
  noteIfNew(study, ifNew.note);
  const lineOf = (setting: string) => lines.get(setting) ?? lines.get(setting.split('.')[0] ?? '') ?? line;
  const read = { configuration, levelCounts, seed, file: fileName, lineOf };
  return { ...read, refusedIfNew: ifNew.sorted() };
}

interface ReadStudies {
  readonly sound: readonly ReadStudy[];
  readonly unsound: readonly ReadStudy[];
}
const NONE: ReadStudies = { sound: [], unsound: [] };

function readStudies(text: string, refuseInFile: Refuse): ReadStudies {
  let isRefused = false;
  const refuse: Refuse = (...problem) => {
    isRefused = true;
    refuseInFile(...problem);
  };
  if (text.length > MAX_FILE_LENGTH) {
    refuse(1, 'the file is longer than a million characters', 'is it the right file?');
    return NONE;
  }
  const root = readYaml(text, refuse);
  if (root === undefined) return NONE;
  if (isMissing(root)) return refuseEmpty(refuse);
  if (root.kind !== 'mapping') {
    refuse(
      root.line,
      'the file is not a mapping from names to studies',
      'write each study as "name:" with its settings indented below',
    );
    return NONE;
  }
  const [named, rest] = partition(root.entries, (entry) => entry.value.kind === 'mapping');
  const defaults = readUrnSettings(rest, BUILT_IN, refuse);
  for (const entry of rest) if (!TOP_LEVEL_KEYS.includes(entry.key)) refuseTopLevel(entry, refuse);
  if (named.length === 0 && rest.every(({ key }) => TOP_LEVEL_KEYS.includes(key))) return refuseEmpty(refuse);
  // A problem outside the studies may change the meaning of any of them.
  const isFileSound = !isRefused;
  const [sound, unsound]: [ReadStudy[], ReadStudy[]] = [[], []];
  for (const entry of named) {
    isRefused = false;
    const study = readStudy(entry, defaults, refuse);
    (isFileSound && !isRefused ? sound : unsound).push(study);
  }
  return { sound, unsound };
}

function refuseEmpty(refuse: Refuse): ReadStudies {
  refuse(
    1,
    'the file names no study',
    'add one: its name at the top level, treatments and factors indented below',
  );
  return NONE;
}

function refuseTopLevel({ key, line, value }: Entry, refuse: Refuse): void {
  const nearest = nearestTo(key, TOP_LEVEL_KEYS);
  const hint = nearest
    ? `did you mean ${nearest}?`
    : `the top level has studies and ${TOP_LEVEL_KEYS.join(', ')}`;
  if (STUDY_KEYS.includes(key)) {
    refuse(line, `${key} is outside a study`, 'indent it below the name of its study');
  } else if (isMissing(value)) {
    refuse(
      line,
      `${quote(key)} has nothing below it`,
      'a study needs its treatments and factors below its name, indented',
    );
  } else {
    refuse(line, `unknown key ${quote(key)} at the top level`, hint);
  }
}

function partition(entries: readonly Entry[], matches: (entry: Entry) => boolean): [Entry[], Entry[]] {
  return [entries.filter(matches), entries.filter((entry) => !matches(entry))];
}
