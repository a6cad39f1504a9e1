/** The page for an emergency: docs/emergency.md, with a command that works on this machine from any folder. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { locate, mayHoldLog, NoLogError } from '../service/open/store-location.ts';
import { type LogOptions, logSettings } from './options.ts';

const require = createRequire(import.meta.url);

/** The command in the document. */
const COMMAND = /^urn reveal (--study[^`]*```\n)/m;
const CREDENTIALS = /\/\/.*@/s;

/** @throws NoLogError if there is no log */
export function emergencyPage(options: LogOptions): string {
  const settings = logSettings(options);
  const location = locate(settings);
  if (!mayHoldLog(location)) throw new NoLogError(settings);
  const text = readFileSync(require.resolve('#emergency'), 'utf8');
  if (!COMMAND.test(text))
    throw new Error('docs/emergency.md has no line that begins with urn reveal --study');
  const owned = location.kind === 'sqlite' ? location.file : resolve(options.data);
  const begin = [...asOwnerOf(owned), process.execPath, program(), 'reveal'].map(quoted).join(' ');
  const lines = [begin, ...optionsOf(options)].map((line) => `${line} \\\n  `);
  const hint = CREDENTIALS.test(options.store ?? '')
    ? '\nNAME and PASSWORD are those of the store. They are kept ______________________________\n'
    : '';
  return text.replace(COMMAND, (_, rest: string) => `${lines.join('')}${rest}${hint}`).trimEnd();
}

/** By the name that it was called by, if that is a link: the link stays when a new version takes the place of this one. */
function program(): string {
  const own = join(dirname(require.resolve('#package')), 'bin/urn.js');
  const [, called = own] = process.argv;
  return existsSync(called) && realpathSync(called) === realpathSync(own) ? resolve(called) : own;
}

/** What the command must say so that it finds the log from any folder: paths in full, and no password. */
function optionsOf({ data, store, streamPrefix, signingKey, allowGroupKey }: LogOptions): string[] {
  const given = {
    '--data': resolve(data),
    '--store': store?.startsWith('sqlite:') ? inFull(store) : store?.replace(CREDENTIALS, '//NAME:PASSWORD@'),
    '--stream-prefix': streamPrefix,
    '--signing-key': signingKey === undefined ? undefined : resolve(signingKey),
  };
  return [
    ...Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : `${name} ${quoted(value)}`,
    ),
    ...(allowGroupKey ? ['--allow-group-key'] : []),
  ];
}

/** `sqlite:` alone is the database of the data folder. */
function inFull(store: string): string {
  const file = store.slice('sqlite:'.length);
  return file === '' ? store : `sqlite:${resolve(file)}`;
}

/** Whoever is called at night need not be the user of the service. */
function asOwnerOf(path: string): string[] {
  const { uid } = statSync(path);
  return uid === 0 ? ['sudo'] : ['sudo', '-u', nameOf(uid)];
}

/** sudo takes a number, too. */
function nameOf(uid: number): string {
  try {
    return execFileSync('id', ['-nu', String(uid)], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return `#${uid}`;
  }
}

/** As a shell reads it. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
