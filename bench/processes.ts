/** The processes that a benchmark starts, each on a free port of the loopback address, and ends. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LoadOrder, LoadReport } from './load.ts';

/** How often a starting server is asked whether it is ready, in ms. */
const ASK_MS = 5;
const START_TIMEOUT_MS = 60_000;

export interface Running {
  readonly port: number;
  readonly apiKey: string;
  stop(): Promise<void>;
}

/** The built service on the log in `folder`, logging into a file there. Resolves once /readyz says 200. */
export async function startService(folder: string, nodeOptions: readonly string[] = []): Promise<Running> {
  const port = await freePort();
  const args = [...nodeOptions, built('../../bin/urn.js'), 'serve', '--data', folder, '--port', String(port)];
  const child = spawnLogging(args, folder, 'service.log', 'ignore');
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await isReady(port))) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`the service did not start (see ${join(folder, 'service.log')})`);
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  }
  return { port, apiKey: '', stop: () => stop(child) };
}

/** A server of this folder, which tells its port and a key on stdout when it listens. */
export async function startConstant(name: 'middleware' | 'express', folder: string): Promise<Running> {
  const child = spawnLogging([built(`./constant-${name}.js`)], folder, `${name}.log`, 'pipe');
  const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  const { address, apiKey } = JSON.parse(line.toString()) as { address: string; apiKey: string };
  return { port: Number(new URL(address).port), apiKey, stop: () => stop(child) };
}

export interface LoadGenerator {
  run(order: LoadOrder): Promise<LoadReport>;
  stop(): Promise<void>;
}

export function startLoadGenerator(): LoadGenerator {
  const child = fork(built('./load.js'), { env: environment() });
  return {
    run: async (order) => {
      child.send(order);
      const [report] = (await Promise.race([once(child, 'message'), failure(child)])) as [LoadReport];
      return report;
    },
    stop: () => stop(child),
  };
}

async function failure(child: ChildProcess): Promise<never> {
  await once(child, 'exit');
  throw new Error('the load generator failed');
}

function spawnLogging(
  args: readonly string[],
  folder: string,
  logName: string,
  stdout: 'ignore' | 'pipe',
): ChildProcess {
  const log = openSync(join(folder, logName), 'a');
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', stdout, log],
  });
  closeSync(log);
  return child;
}

/** Ours without URN_*: what the shell happens to set must not change what is measured. */
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

function built(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
