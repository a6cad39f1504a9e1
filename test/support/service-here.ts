/**
 * The service in this process, for tests of what it answers and leaves in the log. Starting the program takes most of a
 * second of processor time; tests of the program itself, of its options and of its end, start it with service.ts.
 */

import { addCommand } from '../../src/cli/keys.ts';
import { cliActor } from '../../src/cli/options.ts';
import { VERSION } from '../../src/cli/version.ts';
import type { Grant } from '../../src/core/access/keys.ts';
import { parseStudiesFile } from '../../src/core/configuration/studies-file.ts';
import { makeLogger } from '../../src/service/monitoring/logger.ts';
import { type ServiceSettings, startService } from '../../src/service/start-service.ts';
import { readAll } from './store-contract.ts';
import { inText, type StoredText } from './stored-log.ts';

/** Services of one file may start at the same time: only the last of them gives it back. */
const UMASK_OF_TESTS = process.umask();
let starting = 0;

export type ServiceHere = Awaited<ReturnType<typeof serveHere>>;

/**
 * On a free port.
 * @param studies text of the studies file; without one, only the log is served
 * @param more other settings than those of the tests
 * @param level the least of what it logs
 */
export async function serveHere(
  data: string,
  studies = '',
  more: Partial<ServiceSettings> = {},
  level = 'info',
) {
  const settings: ServiceSettings = {
    data,
    host: '127.0.0.1',
    port: 0,
    studies: studies === '' ? [] : parseStudiesFile(studies, 'studies.yaml').studies,
    datetimeFormat: 'http-date',
    version: VERSION,
    trustProxy: undefined,
    witness: undefined,
    relay: undefined,
    ...more,
  };
  /** Its log so far. */
  const output = { stderr: '' };
  const write = (line: string) => {
    output.stderr += line;
  };
  starting += 1;
  process.umask(0o077);
  try {
    const service = await startService(settings, cliActor(), makeLogger(level, { write }));
    let stopped: Promise<void> | undefined;
    /** May be called again. */
    const stop = () => {
      stopped ??= service.stop();
      return stopped;
    };
    const { address: url, metricsAddress, log } = service;
    return { url, metricsAddress, data, output, log, stop };
  } finally {
    starting -= 1;
    if (starting === 0) process.umask(UMASK_OF_TESTS);
  }
}

/**
 * Issues keys in an open log, without the checks of the command, which would open it for each of them.
 * @param wanted the keys, with arguments of `urn keys add`
 */
export async function issueKeysIn<N extends string>(
  { keys }: Pick<ServiceHere['log'], 'keys'>,
  wanted: Readonly<Record<N, readonly string[]>>,
): Promise<Record<N, string>> {
  const all: Partial<Record<N, string>> = {};
  for (const [name, args] of Object.entries<readonly string[]>(wanted)) {
    const issued = await keys.issue(grantOf(args), cliActor());
    if ('refused' in issued) throw new Error(issued.refused);
    all[name as N] = issued.apiKey;
  }
  return all as Record<N, string>;
}

/** What the arguments of `urn keys add` grant. */
function grantOf(args: readonly string[]): Grant {
  const command = addCommand().action(() => undefined);
  const { scope, study, where, expires, allowPrediction } = command.parse(args, { from: 'user' }).opts();
  return {
    user: command.args[0] ?? '',
    scopes: scope.split(','),
    studies: study,
    where: where && limitsOf(where),
    expiresAt: expires && new Date(expires).toISOString(),
    allowPrediction,
  };
}

function limitsOf(where: readonly string[]): Grant['where'] {
  const pairs = where.map((limit) => limit.split(/=(.*)/s) as [factor: string, level: string]);
  return [...new Set(pairs.map(([factor]) => factor))].map((factor) => ({
    factor,
    levels: pairs.flatMap(([of, level]) => (of === factor ? [level] : [])),
  }));
}

/** All records of its log so far, in the order of their arrival, as `storedLog` gives those of a file. */
export const recordsOf = async ({ log }: ServiceHere): Promise<StoredText[]> =>
  (await readAll(log.store)).map(inText);
