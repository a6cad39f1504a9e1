/** Where the programs of threads are. Under a test runner this file is TypeScript, which a thread of Node 20 cannot load. */
const PROGRAMS = import.meta.url.endsWith('.ts') ? '../../dist/src/' : '../';

/** @param name its path below `src`, without the extension */
export function threadFile(name: string): URL {
  return new URL(`${PROGRAMS}${name}.js`, import.meta.url);
}
