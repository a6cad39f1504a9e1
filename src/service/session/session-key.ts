/**
 * The secret under which cookies are sealed, and its file:
 *
 *   <base64url of 32 random bytes>
 *   <the key before it> replaced <instant>        only after a replacement
 *
 * It is not the signing key, because anyone with a backup of that could forge sessions.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { LONGEST_SESSION_MS } from '../../../projections/sessions.ts';
import { DomainError } from '../../base/errors.ts';
import { createOnce, flush, type KeyKind, refuseKeyOfOthers } from '../../base/files.ts';

const KEY_BYTES = 32;
const FILE = /^([\w-]{43})\n(?:([\w-]{43}) replaced (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\n)?$/;
/** How often the file is looked at, in ms. */
const LOOK_MS = 1000;

const SESSION_KEY: KeyKind = {
  name: 'session key',
  harm: 'sign in as anybody',
  remedy: 'urn session-key replace --end-sessions',
};

interface SessionKeys {
  readonly current: Uint8Array;
  readonly previous?: { readonly key: Uint8Array; readonly replacedAt: number } | undefined;
}

/** Gives the keys as they are now. */
export type SessionSecret = () => SessionKeys;

/** The keys that may have sealed a cookie that is still valid, the current one first. */
export function openingKeys({ current, previous }: SessionKeys, now: number): Uint8Array[] {
  const isPreviousValid = previous !== undefined && now - previous.replacedAt < LONGEST_SESSION_MS;
  return isPreviousValid ? [current, previous.key] : [current];
}

/** @throws DomainError `identity` */
export function parseSessionKeys(text: string, where: string): SessionKeys {
  const [, current, previous, replaced] = FILE.exec(text) ?? [];
  const keys = [current, previous].map((key) => Buffer.from(key ?? '', 'base64url'));
  const [first, second] = keys;
  if (current === undefined || first?.length !== KEY_BYTES)
    throw new DomainError(
      'identity',
      `${where} holds no session key (hint: delete it, and a new one is made; everybody signs in again)`,
    );
  if (previous === undefined || second?.length !== KEY_BYTES) return { current: first };
  return { current: first, previous: { key: second, replacedAt: Date.parse(replaced ?? '') } };
}

/** For a log that lives only as long as its process. */
export function sessionKeyInMemory(): SessionSecret {
  const keys = { current: randomBytes(KEY_BYTES) };
  return () => keys;
}

/**
 * Reads the file, which is made if it does not exist, and again whenever it changes.
 * @param onProblem the file changed and cannot be read: the keys read before stay in use
 * @throws DomainError `identity`
 */
export function sessionKeyInFile(file: string, onProblem: (error: Error) => void): SessionSecret {
  make(file);
  let state = stateOf(file);
  let keys = readKeys(file);
  let lookedAt = performance.now();
  return () => {
    const now = performance.now();
    if (now - lookedAt < LOOK_MS) return keys;
    lookedAt = now;
    const found = stateOf(file);
    if (found === state) return keys;
    state = found;
    try {
      keys = readKeys(file);
    } catch (error) {
      onProblem(error as Error);
    }
    return keys;
  };
}

/**
 * Puts a new key in the place of the current one, or makes the first.
 * @param keepsSessions whether the cookies sealed with the current key stay valid
 */
export function replaceSessionKey(file: string, keepsSessions: boolean, now: Date): void {
  if (make(file)) return;
  const [before] = readFileSync(file, 'utf8').split('\n');
  const previous = keepsSessions ? `${before} replaced ${now.toISOString()}\n` : '';
  const text = `${newKey()}\n${previous}`;
  // Nothing that cannot be read again takes the place of a key in use.
  parseSessionKeys(text, file);
  const draft = `${file}.new-${randomBytes(6).toString('hex')}`;
  createOnce(draft, (path) => writeFileSync(path, text));
  renameSync(draft, file);
  flush(dirname(file));
}

/** @returns whether there was none */
function make(file: string): boolean {
  if (statSync(file, { throwIfNoEntry: false })) return false;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  createOnce(file, (draft) => writeFileSync(draft, `${newKey()}\n`));
  return true;
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString('base64url');
}

function readKeys(file: string): SessionKeys {
  refuseKeyOfOthers(file, SESSION_KEY);
  return parseSessionKeys(readFileSync(file, 'utf8'), file);
}

/** Changes when the file is replaced or written. */
function stateOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'missing';
}
