import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const { resolve } = createRequire(import.meta.url);

/**
 * The program of a thread or of another process, as built. Under a test runner too: this file is TypeScript there, which
 * Node 20 cannot load.
 */
export function threadFile(
  name: 'append-thread' | 'band-process' | 'replicates-thread' | 'simulation-thread' | 'verification-thread',
): URL {
  return pathToFileURL(resolve(`#program/${name}.js`));
}
