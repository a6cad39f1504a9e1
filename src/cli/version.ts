import { existsSync, readFileSync } from 'node:fs';

/** The version in package.json, which is in a folder above this file in the source and in the build. */
export const VERSION = readVersion(new URL('../../package.json', import.meta.url));

function readVersion(file: URL): string {
  const here = existsSync(file) ? file : new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(here, 'utf8')) as { version: string }).version;
}
