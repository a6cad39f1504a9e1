/** Where the program of a thread lies: under a test runner this file is TypeScript, which a thread of Node 20 cannot load. */
export function threadFile(name: string): URL {
  const built = import.meta.url.endsWith('.ts')
    ? `../../../dist/src/store/sqlite/${name}.js`
    : `./${name}.js`;
  return new URL(built, import.meta.url);
}
