/**
 * Files: created whole or not at all (`createOnce`), not open to others than their owner, and named after the study that they
 * are about (`fileNameAbout`).
 *
 * A log's key signs for it, its database holds every arm, and the studies file what the methods keep secret. So a key that
 * everybody may use is refused, and there is a warning of whatever else is open to others.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, statSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { DomainError } from './errors.ts';

/**
 * Creates a file that only its owner can read, unless it exists. It appears under its name only after `fill` has finished
 * the draft, so a crash leaves no half-written file. If two processes create it at once, the first one's stays.
 */
export function createOnce(file: string, fill: (draft: string) => void): void {
  if (existsSync(file)) return;
  // Not the process id: in containers that share a folder, every process may be number 1.
  const draft = `${file}.new-${randomBytes(6).toString('hex')}`;
  try {
    closeSync(openSync(draft, 'wx', 0o600));
    fill(draft);
    flush(draft);
    linkSync(draft, file);
    flush(dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !existsSync(file)) throw error;
  } finally {
    if (existsSync(draft)) unlinkSync(draft);
  }
}

/** Returns once the disk has it: a file, or the names in a folder. */
export function flush(path: string): void {
  const fd = openSync(path, 'r');
  fsyncSync(fd);
  closeSync(fd);
}

/** Bits of a file's mode. */
const MODE_GROUP = 0o070;
const MODE_OTHERS = 0o007;
const MODE_OTHERS_WRITE = 0o002;
const MODE_STICKY = 0o1000;

/** What a key is called, what others could do with it, and the command that ends its use. */
export interface KeyKind {
  readonly name: string;
  readonly harm: string;
  readonly remedy: string;
}

/**
 * Refuses a key that everybody on the machine may use.
 * @throws DomainError `identity`
 */
export function refuseKeyOfOthers(file: string, { name, harm, remedy }: KeyKind): void {
  const mode = modeOf(file);
  if ((mode & MODE_OTHERS) === 0) return;
  throw new DomainError(
    'identity',
    `everybody on this machine may use the ${name} ${file} (mode ${octal(mode)}), and ${harm} with it (hint: chmod 600 ${shellQuoted(file)}; if somebody may have read it: ${remedy})`,
  );
}

/** Absolute paths of a log's files. A store that is not a file has no database. */
export interface FilesOfLog {
  readonly folder: string;
  readonly keyFile: string;
  /** Only where people can sign in. */
  readonly sessionKeyFile?: string | undefined;
  readonly database: string | undefined;
}

/**
 * What is open to more than its owner but may be intended: one line each, with the command that fixes it.
 * @param allowGroupKey whether the groups of the keys' files are meant to read them, as with a mounted secret
 */
export function permissionWarnings(
  { folder, keyFile, sessionKeyFile, database }: FilesOfLog,
  allowGroupKey = false,
): string[] {
  const warnings: string[] = [];
  for (const [name, file] of [['signing', keyFile] as const, ['session', sessionKeyFile] as const]) {
    const keyMode = file === undefined ? 0 : modeOf(file);
    if (file !== undefined && (keyMode & MODE_GROUP) !== 0 && !allowGroupKey)
      warnings.push(
        `the group of the ${name} key ${file} may use it (mode ${octal(keyMode)}; hint: chmod 600 ${shellQuoted(file)}, or --allow-group-key if that is intended)`,
      );
  }
  const folderMode = modeOf(folder);
  if ((folderMode & (MODE_GROUP | MODE_OTHERS)) !== 0)
    warnings.push(
      `the data folder ${folder} is open to others than its owner (mode ${octal(folderMode)}; hint: chmod 700 ${shellQuoted(folder)})`,
    );
  if (database === undefined) return warnings;
  const databaseMode = modeOf(database);
  if ((databaseMode & (MODE_GROUP | MODE_OTHERS)) !== 0)
    warnings.push(
      `the database ${database}, which holds every arm, is open to others than its owner (mode ${octal(databaseMode)}; hint: chmod 600 ${shellQuoted(database)}*)`,
    );
  // A database elsewhere may share its folder, which may be open then. But anyone who can write there can replace the database.
  const place = dirname(database);
  const placeMode = modeOf(place);
  if (place !== folder && (placeMode & MODE_OTHERS_WRITE) !== 0 && (placeMode & MODE_STICKY) === 0)
    warnings.push(
      `everybody on this machine may put another database in the place of ${database} (its folder has mode ${octal(placeMode)}; hint: chmod o-w ${shellQuoted(place)})`,
    );
  return warnings;
}

/** A line if everybody may read the studies file: whoever knows sizes of blocks, or p, guesses better. Undefined if not. */
export function studiesFileWarning(file: string): string | undefined {
  const mode = modeOf(file);
  if ((mode & MODE_OTHERS) === 0) return undefined;
  return `everybody on this machine may read what the methods of the studies in ${file} keep secret (mode ${octal(mode)}; hint: chmod o= ${shellQuoted(file)})`;
}

/** 0 if the path does not exist. */
function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o7777;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

/** For a POSIX shell. */
function shellQuoted(path: string): string {
  return /^[\w./+:@-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** The name of a file about a study: `<study>-<what><extension>`, which says so if the study is a test. */
export function fileNameAbout(
  study: string,
  {
    isTest,
    what,
    extension,
  }: { readonly isTest: boolean; readonly what: string; readonly extension: string },
): string {
  return `${partOfFileName(study)}${isTest ? '-TEST' : ''}-${what}${extension}`;
}

function partOfFileName(study: string): string {
  return (
    study
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
      .replace(/^[-.]+/, '')
      .slice(0, 60) || 'study'
  );
}
