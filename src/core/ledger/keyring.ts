/** Where a log's signing key is kept. During a rotation, the next key is kept beside the current one. */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createOnce, flush, type KeyKind, refuseKeyOfOthers } from '../../base/files.ts';
import { loadSigningKey, makeSigningKey, type SigningKey } from './signing-key.ts';

export interface Keyring {
  /**
   * The current key. An unfinished rotation leaves two keys. If the log already names the next one, this finishes the
   * rotation and drops the old key.
   * @throws DomainError `identity` when there is no key
   */
  load(publicKey: string): SigningKey;
  /** The key for a new log of that name. It is made if it does not exist. */
  loadOrMake(logName: string): SigningKey;
  /** The next key: the one left by an earlier attempt, or a new one. */
  loadOrMakeNext(logName: string): SigningKey;
}

export const SIGNING_KEY: KeyKind = {
  name: 'signing key',
  harm: 'sign for the log',
  remedy: 'urn signing-key rotate',
};

/** Keeps the key in a file that only its owner, and perhaps its group, may use. The next key is in `<file>.next`. */
export function keyringInFile(file: string): Keyring {
  const nextFile = `${file}.next`;
  const read = (path: string) => {
    const key = loadSigningKey(path);
    refuseKeyOfOthers(path, SIGNING_KEY);
    return key;
  };
  const make = (path: string, name: string) => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    createOnce(path, (draft) => writeFileSync(draft, `${makeSigningKey(name).secret}\n`));
    return read(path);
  };
  const replace = () => {
    try {
      renameSync(nextFile, file);
    } catch (error) {
      // Another process that heard of the rotation was faster.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    flush(dirname(file));
  };
  return {
    load(publicKey) {
      if (existsSync(nextFile) && loadSigningKey(nextFile).publicKey === publicKey) replace();
      return read(file);
    },
    loadOrMake: (name) => make(file, name),
    loadOrMakeNext: (name) => make(nextFile, name),
  };
}

/** For a log that lives only as long as its process. */
export function keyringInMemory(): Keyring {
  let key: SigningKey | undefined;
  let next: SigningKey | undefined;
  const loadOrMake = (name: string) => {
    key ??= makeSigningKey(name);
    return key;
  };
  return {
    load: (publicKey) => {
      if (next?.publicKey === publicKey) {
        key = next;
        next = undefined;
      }
      return loadOrMake('urn');
    },
    loadOrMake,
    loadOrMakeNext: (name) => {
      next ??= makeSigningKey(name);
      return next;
    },
  };
}
