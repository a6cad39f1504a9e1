/**
 * The program in this process, for tests of what a command does to a log and says about it: all of src/main.ts, from the
 * arguments to the exit code. Starting the program takes a third of a second of processor time; that it starts, and what
 * only a process of its own has, is tested in e2e/cli. The log of a service or a relay is not caught here: they run with
 * service.ts, unless they are refused before it begins.
 */
import { tmpdir } from 'node:os';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, vi } from 'vitest';
import type { Finished, Surroundings } from './service.ts';

const [MAIN, PROGRAM] = ['src/main.ts', 'bin/urn.js'].map((file) =>
  fileURLToPath(new URL(`../../${file}`, import.meta.url)),
) as [string, string];

// The settings of the person who runs the tests must not reach the program under test.
for (const name of Object.keys(process.env)) if (name.startsWith('URN_')) delete process.env[name];

/** What a command in this process finds around it. */
interface Around extends Omit<Surroundings, 'heedsModes'> {
  /** What the person at a terminal types. Without it, stdin is no terminal. */
  readonly answer?: string;
}

/** Ends what runs in place of the process. */
class Exit extends Error {}

let last: Promise<unknown> = Promise.resolve();

/** Like `urn`, such as `command(['keys', 'list'])`. One runs at a time, because its output is that of this process. */
export function command(args: readonly string[], surroundings: Around = {}): Promise<Finished> {
  const finished = last.then(() => run(args, surroundings));
  last = finished.catch(() => undefined);
  return finished;
}

/** Like `command`, but returns its stdout. @throws Error with all its output if it does not exit with 0 */
export async function commandOk(args: readonly string[], surroundings?: Around): Promise<string> {
  const { code, stdout, stderr } = await command(args, surroundings);
  if (code !== 0) throw new Error(`urn ${args.join(' ')} exited with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

/** Expects that a command did not begin: exit code 2, nothing on stdout, and no error that nobody foresaw. @returns its stderr */
export async function refusal(finished: Promise<Finished>): Promise<string> {
  const { code, stdout, stderr } = await finished;
  expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' });
  expect(stderr).not.toContain('unexpected');
  return stderr;
}

async function run(args: readonly string[], { env = {}, cwd = tmpdir(), answer }: Around): Promise<Finished> {
  const output = { stdout: '', stderr: '' };
  let code: number | undefined;
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      // What follows the end is only what catches the exception.
      if (code === undefined) output[name] += text;
      return true;
    }),
  );
  const exit = vi.spyOn(process, 'exit').mockImplementation((asked) => {
    code ??= Number(asked ?? process.exitCode ?? 0);
    throw new Exit();
  });
  const restore = asItsOwn([process.execPath, PROGRAM, ...args], env, cwd);
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor;
  if (answer !== undefined) Object.defineProperty(process, 'stdin', { ...stdin, ...terminalOf(answer) });
  try {
    // As a function: see vitest.config.ts.
    const { main } = await import(/* @vite-ignore */ `${MAIN}?function`);
    await main();
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
  } finally {
    code ??= Number(process.exitCode ?? 0);
    Object.defineProperty(process, 'stdin', stdin);
    restore();
    for (const spy of [...spies, exit]) spy.mockRestore();
  }
  return { code, ...output };
}

/** What a command listens to until its process ends. */
const LISTENED: readonly (readonly [NodeJS.EventEmitter, string])[] = [
  [process.stdout, 'error'],
  [process, 'SIGTERM'],
  [process, 'SIGINT'],
];

/** Somebody at a terminal who types this. */
function terminalOf(answer: string): PropertyDescriptor {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.end(answer);
  return { get: () => stdin };
}

/** Gives this process what the program has as its own. @returns what gives it back */
function asItsOwn(argv: string[], env: Readonly<Record<string, string>>, cwd: string): () => void {
  const { exitCode } = process;
  const before = { argv: process.argv, env: { ...process.env }, cwd: process.cwd(), umask: process.umask() };
  const listening = LISTENED.map(([to, name]) => ({ to, name, listeners: to.listeners(name) }));
  process.argv = argv;
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.exitCode = undefined;
  return () => {
    process.argv = before.argv;
    for (const name of Object.keys(process.env)) if (!(name in before.env)) delete process.env[name];
    Object.assign(process.env, before.env);
    process.chdir(before.cwd);
    process.umask(before.umask);
    process.exitCode = exitCode;
    for (const { to, name, listeners } of listening)
      for (const listener of to.listeners(name))
        if (!listeners.includes(listener)) to.off(name, listener as () => void);
  };
}
