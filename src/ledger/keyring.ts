/** Where a log's signing key is kept: the one that signs, and while it is rotated the next one beside it. */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createOnce, flush } from '../base/create-once.ts';
import { refuseKeyOfOthers } from '../base/permissions.ts';
import { loadSigningKey, makeSigningKey, type SigningKey } from './signing-key.ts';

export interface Keyring {
  /**
   * The key that signs. Of two, as an unfinished rotation leaves them, it is the one that the log names: then the
   * rotation is finished, and the key before is gone.
   * @throws DomainError `identity` when there is none
   */
  load(publicKey: string): SigningKey;
  /** The key for a new log of that name, made unless it exists. */
  loadOrMake(logName: string): SigningKey;
  /** The next key: the one that an earlier attempt left, or a new one. */
  loadOrMakeNext(logName: string): SigningKey;
}

/** In a file that nobody but its owner, and perhaps its group, may use; the next one in `<file>.next`. */
export function keyringInFile(file: string): Keyring {
  const nextFile = `${file}.next`;
  const read = (path: string) => {
    const key = loadSigningKey(path);
    refuseKeyOfOthers(path);
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

/** For a log that is gone when its process ends. */
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
