/** All benchmarks, one after the other: a table on stderr, the figures as JSON on stdout or into a file. */
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureAgainst } from './against.ts';
import { measureDeciding } from './deciding.ts';
import { type Figure, isMet, table } from './figures.ts';
import { measureFlooding } from './flooding.ts';
import { measureInstances } from './instances.ts';
import { measureMethods } from './methods.ts';
import { measurePacks } from './packs.ts';
import { measurePaging } from './paging.ts';
import { measurePosts } from './posts.ts';
import { Processes } from './processes.ts';
import { measureReading } from './reading.ts';
import { measureRelaying } from './relaying.ts';
import { measureSharing } from './sharing.ts';
import { measureSimulating } from './simulating.ts';
import { measureVerifying } from './verifying.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    verify: { type: 'string' },
    only: { type: 'string', multiple: true },
    json: { type: 'string' },
    dir: { type: 'string' },
    profile: { type: 'string' },
    store: { type: 'string' },
    against: { type: 'string' },
  },
});
const quick = options.quick;
const toVerify = options.verify === undefined ? (quick ? 20_000 : 100_000) : Number(options.verify);
if (!Number.isSafeInteger(toVerify) || toVerify < 1000)
  throw new Error(`--verify takes a number of allocations, at least 1000, not ${options.verify}`);
const serviceOptions =
  options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(options.profile)}`];

const PARTS: Readonly<Record<string, (processes: Processes) => Figure[] | Promise<Figure[]>>> = {
  posts: (processes) =>
    options.against === undefined
      ? measurePosts(processes, quick ? { rounds: 2, measuredMs: 500 } : { rounds: 7, measuredMs: 2000 })
      : measureAgainst(
          processes,
          options.against,
          quick ? { rounds: 6, measuredMs: 500 } : { rounds: 25, measuredMs: 1000 },
        ),
  methods: (processes) =>
    measureMethods(processes, quick ? { rounds: 6, measuredMs: 250 } : { rounds: 25, measuredMs: 500 }),
  reading: (processes) =>
    measureReading(processes, {
      lists: quick ? 7 : 25,
      restarts: quick ? 1 : 5,
      listed: 10_000,
      restarted: quick ? 50_000 : 100_000,
    }),
  paging: (processes) =>
    measurePaging(processes, { listed: quick ? 20_000 : 100_000, rounds: quick ? 3 : 9 }),
  sharing: async (processes) => [
    ...(await measureSharing(processes, {
      ...{ listed: 20_000, readers: 16 },
      ...(quick ? { rounds: 1, measuredMs: 3000 } : { rounds: 3, measuredMs: 10_000 }),
    })),
    ...(await measureFlooding(processes, {
      ...{ participants: 40_000, connections: 200, measuredMs: quick ? 1000 : 3000 },
    })),
  ],
  deciding: () =>
    measureDeciding({
      sizes: [100, 10_000, 100_000],
      rounds: quick ? 2 : 9,
      allocations: quick ? 3_200 : 12_800,
    }),
  packs: (processes) => measurePacks(processes, { free: 4000, posts: 100, rounds: quick ? 3 : 9 }),
  instances: (processes) =>
    measureInstances(processes, {
      ...(quick ? { rounds: 1, measuredMs: 1000 } : { rounds: 3, measuredMs: 2000 }),
      store: options.store,
    }),
  simulating: (processes) =>
    measureSimulating(
      processes,
      quick ? { replicates: 2_000, rounds: 2 } : { replicates: 10_000, rounds: 5 },
    ),
  verifying: ({ folder }) =>
    measureVerifying(folder, { participants: toVerify, rounds: quick || toVerify > 200_000 ? 2 : 5 }),
  relaying: (processes) =>
    measureRelaying(
      processes,
      quick ? { records: 5_000, rounds: 2, posts: 150 } : { records: 20_000, rounds: 5, posts: 500 },
    ),
};

const unknown = options.only?.find((name) => !(name in PARTS));
if (unknown !== undefined) throw new Error(`--only takes ${Object.keys(PARTS).join(', ')}, not ${unknown}`);
if (options.against !== undefined && options.only?.join() !== 'posts')
  throw new Error('--against needs --only posts');

const figures: Figure[] = [];
const startedAt = new Date();
for (const [name, measure] of Object.entries(PARTS)) {
  if (options.only && !options.only.includes(name)) continue;
  const folder = mkdtempSync(join(options.dir ?? diskFolder(), 'urn-bench-'));
  const processes = new Processes(folder, serviceOptions);
  const interrupted = () => cleanUp(processes).then(() => process.exit(130));
  process.once('SIGINT', interrupted);
  try {
    const part = await measure(processes);
    process.stderr.write(`${table(part)}\n\n`);
    figures.push(...part);
  } finally {
    await cleanUp(processes);
    process.off('SIGINT', interrupted);
  }
}
const report = {
  startedAt: startedAt.toISOString(),
  seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
  node: process.version,
  cpu: cpus()[0]?.model,
  cores: cpus().length,
  quick,
  figures: figures.map((figure) => ({ ...figure, met: isMet(figure) })),
};
const text = `${JSON.stringify(report, null, 2)}\n`;
if (options.json === undefined) process.stdout.write(text);
else writeFileSync(options.json, text);

async function cleanUp(processes: Processes): Promise<void> {
  await processes.stopAll();
  rmSync(processes.folder, { recursive: true, force: true });
}

/** The system's folder for temporary files, unless it is in memory, where a flush costs nothing. */
function diskFolder(): string {
  const TMPFS_MAGIC = 0x01021994;
  if (statfsSync(tmpdir()).type !== TMPFS_MAGIC) return tmpdir();
  const folder = fileURLToPath(new URL('../bench-data', import.meta.url));
  mkdirSync(folder, { recursive: true });
  return folder;
}
