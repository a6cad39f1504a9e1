/** Runs the real, built program as an operator does: `node bin/urn.js …`, in its own processes and folders. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { within } from './client.ts';
import { commandOk } from './command.ts';
import { WITHOUT_OVERRIDE } from './without-override.ts';

export const PROGRAM = fileURLToPath(new URL('../../bin/urn.js', import.meta.url));
/** Generous: a machine may be busy with other tests. */
const READY_WITHIN_MS = 60_000;

/** Processes that a failed test has left running end with its file. */
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** File modes apply to it, even if the superuser runs the tests. */
  readonly heedsModes?: boolean;
}

/** Runs a command that ends by itself, such as `urn('keys', ['list'])`. */
export async function urn(args: readonly string[], surroundings: Surroundings = {}): Promise<Finished> {
  const { output, exited } = start(args, surroundings);
  const code = await exited;
  return { code, ...output };
}

/** A new API key, as `urn keys add` issues it with these arguments, in this process. */
export const issueKey = async (data: string, ...args: string[]): Promise<string> =>
  (await commandOk(['keys', 'add', ...args, '--data', data])).trim();

/** Several keys, under the names that the tests use for them. */
export async function issueKeys<N extends string>(
  data: string,
  wanted: Readonly<Record<N, readonly string[]>>,
): Promise<Record<N, string>> {
  const issued: Partial<Record<N, string>> = {};
  for (const [name, args] of Object.entries<readonly string[]>(wanted))
    issued[name as N] = await issueKey(data, ...args);
  return issued as Record<N, string>;
}

export type Service = Awaited<ReturnType<typeof serve>>;

export interface ServeOptions extends Surroundings {
  readonly data: string;
  /** Text of the studies file; if undefined, `args` or the working folder decides. */
  readonly studies?: string;
  readonly args?: readonly string[];
}

/** Starts the service on a free port. Resolves when it reports that it is ready. */
export async function serve(options: ServeOptions) {
  const { child, output, exited } = launch(options);
  const address = () => /"address":"([^"]+)"/.exec(output.stderr)?.[1];
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  const isDecided = async () => address() !== undefined || isOver();
  await within(READY_WITHIN_MS, isDecided).catch(() => child.kill('SIGKILL'));
  const url = address();
  if (url === undefined) throw new Error(`urn serve exited with ${await exited}:\n${output.stderr}`);
  /** SIGTERM. @throws Error unless it exits with 0 */
  const stop = async () => {
    child.kill('SIGTERM');
    const code = await exited;
    if (code !== 0) throw new Error(`urn serve stopped with ${code ?? child.signalCode}:\n${output.stderr}`);
  };
  /** Resolves when the process is gone. */
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  return { url, data: options.data, child, output, exited, stop, kill };
}

/** Like `serve`, without waiting for anything. */
export function launch({ data, studies, args = [], ...surroundings }: ServeOptions) {
  const all = ['serve', '--data', data, '--port', '0', ...args];
  if (studies !== undefined) all.push('--studies', studiesFile(data, studies));
  return start(all, surroundings);
}

let studiesFiles = 0;

function studiesFile(data: string, text: string): string {
  mkdirSync(data, { recursive: true });
  const file = join(data, `studies-${++studiesFiles}.yaml`);
  writeFileSync(file, text);
  return file;
}

/** A command that runs until it is stopped. */
export function start(
  args: readonly string[],
  { env = {}, cwd = tmpdir(), heedsModes = false }: Surroundings = {},
) {
  const [command = '', ...all] = [
    ...(heedsModes ? WITHOUT_OVERRIDE : []),
    ...[process.execPath, PROGRAM],
    ...args,
  ];
  const child = spawn(command, all, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  /** What it has written so far. */
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  /** Exit code; null when a signal ended it. */
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { child, output, exited };
}
