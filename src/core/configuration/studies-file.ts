import { quote } from '../../base/text.ts';
import { nearestTo } from '../../base/wording.ts';
import { type Finding, findingsOf, type Note, StudiesFileError } from './finding.ts';
import { noteIfNew } from './new-studies.ts';
import { type ConfiguredStudy, type ReadStudy, readStudy, STUDY_KEYS } from './study.ts';
import { URN } from './study-settings.ts';
import { type RefuseAt, readMembers } from './value-schemas.ts';
import { warnAbout } from './warnings.ts';
import { type Mapping, readYaml, type Value } from './yaml-values.ts';

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
const TOP_LEVEL_KEYS: readonly string[] = ['db', ...Object.keys(URN)];

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
    studies: sound.map((study) => configured(study, fileName)),
    warnings: warnings.sorted(),
    liveByDefault: sound
      .filter(({ isGiven }) => !isGiven('mode'))
      .map(({ configuration }) => configuration.name),
    refusals: refusals.sorted(),
    unsound: unsound.map((study) => configured(study, fileName)),
  };
}

function configured({ isGiven: _, ...study }: ReadStudy, file: string): ConfiguredStudy {
  const ifNew = findingsOf(file);
  noteIfNew(study, ifNew.note);
  return { ...study, file, refusedIfNew: ifNew.sorted() };
}

interface ReadStudies {
  readonly sound: readonly ReadStudy[];
  readonly unsound: readonly ReadStudy[];
}
const NONE: ReadStudies = { sound: [], unsound: [] };

function readStudies(text: string, { note, count }: ReturnType<typeof findingsOf>): ReadStudies {
  if (text.length > MAX_FILE_LENGTH) {
    note(1, 'the file is longer than a million characters (hint: is it the right file?)');
    return NONE;
  }
  const yaml = readYaml(text, note);
  if (!yaml) return NONE;
  const { root, lineOf } = yaml;
  if (root === null) return refuseEmpty(note);
  if (!(root instanceof Map)) {
    note(
      lineOf([]),
      'the file is not a mapping from names to studies (hint: write each study as "name:" with its settings indented below)',
    );
    return NONE;
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
  return NONE;
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
