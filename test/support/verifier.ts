/** The stand-alone verifier of bundles, in a Python child process. */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

/** The verifier in the repository: the one in a bundle must not be trusted. */
const VERIFIER = fileURLToPath(new URL('../../verifier/verify_bundle.py', import.meta.url));
const RUNS = fileURLToPath(new URL('verifier-runs.py', import.meta.url));

const ENVIRONMENT = { ...process.env, PYTHONUTF8: '1', PYTHONDONTWRITEBYTECODE: '1' };

export interface Verified {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function runVerifier(
  python: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Verified {
  const { status, stdout, stderr, error } = spawnSync(python, [VERIFIER, ...args], {
    encoding: 'utf8',
    env: { ...ENVIRONMENT, ...env },
  });
  if (error) throw error;
  return { code: status, stdout, stderr };
}

/** The value of an expression over the verifier's own names, as JSON. */
export function verifierValue(python: string, expression: string): unknown {
  const program = `import json, runpy, sys
globals().update(runpy.run_path(sys.argv[1], run_name="verifier"))
print(json.dumps(${expression}))`;
  const { status, stdout, stderr, error } = spawnSync(python, ['-c', program, VERIFIER], {
    encoding: 'utf8',
    env: ENVIRONMENT,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Like `runVerifier`, for tests that run it often: one process does all runs, and ends with the test file. */
export function loadedVerifier(
  python: string,
  verifier = VERIFIER,
): (args: readonly string[]) => Promise<Verified> {
  let parent: ChildProcessByStdio<Writable, Readable, null> | undefined;
  let answers: AsyncIterator<string> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  afterAll(() => {
    parent?.stdin.end();
  });
  const verify = async (args: readonly string[]): Promise<Verified> => {
    parent ??= spawn(python, [RUNS], { env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'inherit'] });
    answers ??= createInterface(parent.stdout)[Symbol.asyncIterator]();
    parent.stdin.write(`${JSON.stringify([verifier, ...args])}\n`);
    const answer = await answers.next();
    if (answer.done) throw new Error(`${RUNS} ended before it answered`);
    const [code, stdout, stderr] = JSON.parse(answer.value);
    return { code, stdout, stderr };
  };
  return (args) => {
    const verified = last.then(() => verify(args));
    last = verified.catch(() => undefined);
    return verified;
  };
}
