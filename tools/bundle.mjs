/**
 * Bundles the compiled program into a few files. Node takes twice as long to start from several hundred small ones, most of
 * them of packages.
 */
import { rolldown } from 'rolldown';

const THREADS = [
  'statistics/rerandomize/replicates-thread',
  'statistics/simulation/simulation-thread',
  'store/sqlite/append-thread',
  'evidence/verify/database/verification-thread',
];
/** Both branches of the choice. */
const DEVELOPED_WITH = /if \(process\.env\.NODE_ENV === 'production'\) \{([^}]*)\} else \{[^}]*\}/g;

/** @param into the folder that gets main.js and the other entries, and their chunks, whose names change with their content */
export async function bundleProgram(into) {
  const bundle = await rolldown({
    input: Object.fromEntries(
      ['main', 'statistics/expected/band-process', ...THREADS].map((path) => [
        path.slice(path.lastIndexOf('/') + 1),
        `dist/src/${path}.js`,
      ]),
    ),
    platform: 'node',
    logLevel: 'warn',
    // Nothing is dropped. By default, a call whose result is not used goes, even if it is there for what it throws, such as
    // decodeURIComponent(path).
    treeshake: false,
    plugins: [
      {
        // React chooses at run time between what it runs with and what it is developed with, which is twice as large.
        name: 'react-for-production',
        transform: {
          filter: { id: /node_modules\/(react|react-dom)\// },
          handler: (code) => code.replace(DEVELOPED_WITH, '$1'),
        },
      },
    ],
    // Packages with files of their own: native code, protocol definitions, the assets of Swagger UI. And kafkajs, because the
    // tests kill a relay inside it.
    external: /^(better-sqlite3|swagger-ui-dist|kafkajs$|@eventstore\/|@grpc\/|@opentelemetry\/)/,
  });
  await bundle.write({ dir: into, format: 'esm', minify: false });
  await bundle.close();
}
