/**
 * The service in this process, for tests of what it leaves in the log. Starting the program takes most of a second of
 * processor time; tests of the program itself, and of its end, start it with service.ts.
 */
import { cliActor } from '../../src/cli/options.ts';
import { parseStudiesFile } from '../../src/configuration/studies-file.ts';
import { makeLogger } from '../../src/service/logger.ts';
import { type ServiceSettings, startService } from '../../src/service/start-service.ts';

export interface ServiceHere {
  readonly url: string;
  /** Its log so far. */
  readonly output: { readonly stderr: string };
  stop(): Promise<void>;
}

/** On a free port. @param studies text of the studies file */
export async function serveHere(data: string, studies: string): Promise<ServiceHere> {
  const settings: ServiceSettings = {
    data,
    host: '127.0.0.1',
    port: 0,
    studies: parseStudiesFile(studies, 'studies.yaml').studies,
    datetimeFormat: 'http-date',
    version: 'test',
    trustProxy: undefined,
    witness: undefined,
    relay: undefined,
  };
  const output = { stderr: '' };
  const write = (line: string) => {
    output.stderr += line;
  };
  const umask = process.umask(0o077);
  try {
    const service = await startService(settings, cliActor(), makeLogger('info', { write }));
    return { url: service.address, output, stop: () => service.stop() };
  } finally {
    process.umask(umask);
  }
}
