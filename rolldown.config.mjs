/**
 * Bundles the compiled program into a few files in dist/program. Node takes twice as long to start from several hundred
 * small ones, most of them of packages.
 */
import { defineConfig } from 'rolldown';

const OTHERS = ['store/sqlite/append-thread', 'verify/verification-thread', 'expected/band-process'];

export default defineConfig({
  input: Object.fromEntries(
    ['main', ...OTHERS].map((path) => [path.slice(path.lastIndexOf('/') + 1), `dist/src/${path}.js`]),
  ),
  platform: 'node',
  logLevel: 'warn',
  // Nothing is dropped. By default, a call whose result is not used goes, even if it is there for what it throws, such as
  // decodeURIComponent(path).
  treeshake: false,
  // Packages with files of their own: native code, protocol definitions, the assets of Swagger UI. And kafkajs, because the
  // tests kill a relay inside it.
  external: /^(better-sqlite3|swagger-ui-dist|kafkajs$|@eventstore\/|@grpc\/|@opentelemetry\/)/,
  output: { dir: 'dist/program', format: 'esm', cleanDir: true, minify: false },
});
