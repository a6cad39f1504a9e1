import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const { resolve } = createRequire(import.meta.url);

/**
 * The program of a thread, as built. Under a test runner too: this file is TypeScript there, which a thread of Node 20
 * cannot load.
 */
export function threadFile(name: 'append-thread' | 'simulation-thread' | 'verification-thread'): URL {
  return pathToFileURL(resolve(`#program/${name}.js`));
}
