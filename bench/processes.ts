/** Starts and ends the processes of a benchmark, each on a free port of the loopback address. */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Flood } from './flood.ts';
import type { LoadOrder, LoadReport } from './load.ts';

/** How often to ask a starting server whether it is ready, in ms. Each answer takes time away from the start. */
const ASK_MS = 20;
const START_TIMEOUT_MS = 120_000;

/** The program of this checkout. */
export const OWN_PROGRAM = built('../../bin/urn.js');

export interface Running {
  readonly port: number;
  stop(): Promise<void>;
}

export class Processes {
  /** The data and logs of all processes. */
  readonly folder: string;
  readonly #serviceOptions: readonly string[];
  readonly #children = new Set<ChildProcess>();

  /** @param serviceOptions options of Node for the service */
  constructor(folder: string, serviceOptions: readonly string[]) {
    this.folder = folder;
    this.#serviceOptions = serviceOptions;
  }

  /** Runs a command that ends by itself, and returns its stdout. @throws Error if it fails */
  run(program: string, args: readonly string[]): string {
    const options = { cwd: this.folder, env: environment(), encoding: 'utf8', stdio: 'pipe' } as const;
    return execFileSync(process.execPath, [program, ...args], options).trim();
  }

  /**
   * The built service, on the log in the folder or another one. Resolves when /readyz answers 200.
   * @param where options that name the log
   * @param program bin/urn.js of a built checkout
   */
  async startService(
    where: readonly string[] = ['--data', this.folder],
    program = OWN_PROGRAM,
  ): Promise<Running> {
    const port = await freePort();
    const serve = [program, 'serve', ...where, '--port', String(port)];
    const options = [...ownOptions(program), ...this.#serviceOptions];
    const child = this.#spawn([...options, ...serve], 'service.log', 'ignore');
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!(await isReady(port))) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`the service did not start (see ${join(this.folder, 'service.log')})`);
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
    return { port, stop: () => stop(child) };
  }

  /** A server of constant-<name>.ts, which prints its port and a key to stdout when it listens. */
  async startConstant(
    name: 'middleware' | 'express',
    ...options: string[]
  ): Promise<Running & { readonly apiKey: string }> {
    const child = this.#spawn([built(`./constant-${name}.js`), ...options], `${name}.log`, 'pipe');
    const [line] = (await Promise.race([once(child.stdout ?? child, 'data'), once(child, 'exit')])) as [
      unknown,
    ];
    if (!(line instanceof Buffer)) throw new Error(`the server constant-${name} did not start`);
    const { address, apiKey } = JSON.parse(line.toString()) as { address: string; apiKey: string };
    return { port: Number(new URL(address).port), apiKey, stop: () => stop(child) };
  }

  /** Returns a function that puts load on a server. */
  startLoadGenerator(): (order: LoadOrder) => Promise<LoadReport> {
    const child = fork(built('./load.js'), { env: environment() });
    this.#children.add(child);
    return (order) =>
      new Promise((resolve, reject) => {
        const fail = () => reject(new Error('the load generator failed'));
        child.once('exit', fail);
        child.once('message', (report: LoadReport) => {
          child.off('exit', fail);
          resolve(report);
        });
        child.send(order);
      });
  }

  /** A process that floods a server. */
  startFlood(): { begin(flood: Flood): void; end(): Promise<void> } {
    const child = fork(built('./flood.js'), { env: environment() });
    this.#children.add(child);
    return {
      begin: (flood) => void child.send(flood),
      end: async () => {
        child.send('end');
        await once(child, 'message');
      },
    };
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#children].map(stop));
  }

  #spawn(args: readonly string[], logName: string, stdout: 'ignore' | 'pipe'): ChildProcess {
    const log = openSync(join(this.folder, logName), 'a');
    const options = { cwd: this.folder, env: environment() };
    const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', stdout, log] });
    closeSync(log);
    this.#children.add(child);
    return child;
  }
}

/** The environment without URN_*: the settings of the shell must not change the measurement. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('URN_')));
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ port, host: '127.0.0.1', path: '/readyz', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The options of Node with which a program runs when it is called by its name. */
function ownOptions(program: string): string[] {
  const [firstLine = ''] = readFileSync(program, 'utf8').split('\n', 1);
  return firstLine.match(/--\S+/g) ?? [];
}

function built(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
