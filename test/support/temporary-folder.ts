/** Folders and files that are removed when the test file is done. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** @returns a function that makes a new folder that only its owner can read, or such a copy of a folder */
export function temporaryFolders(): (copied?: string) => string {
  const made: string[] = [];
  afterAll(() => {
    for (const folder of made) rmSync(folder, { recursive: true, force: true });
  });
  return (copied) => {
    const folder = mkdtempSync(join(tmpdir(), 'urn-test-'));
    made.push(folder);
    if (copied !== undefined) cpSync(copied, folder, { recursive: true });
    return folder;
  };
}

/** @returns a function that writes a text to a new file of this name, in a folder of its own */
export function temporaryFiles(name: string): (text: string) => string {
  const newFolder = temporaryFolders();
  return (text) => {
    const path = join(newFolder(), name);
    writeFileSync(path, text);
    return path;
  };
}
