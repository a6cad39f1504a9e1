/** The stand-alone verifier of bundles, in a Python child process. */
import { spawn, spawnSync } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

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

/** The processes of this one that run verifiers, by interpreter: test files share them, and they end with this process. */
const loaded = new Map<string, (argv: readonly string[]) => Promise<Verified>>();

/** Like `runVerifier`, for tests that run it often: one process does all runs. */
export function loadedVerifier(
  python: string,
  verifier = VERIFIER,
): (args: readonly string[]) => Promise<Verified> {
  return (args) => {
    const run = loaded.get(python) ?? startRuns(python);
    loaded.set(python, run);
    return run([verifier, ...args]);
  };
}

function startRuns(python: string): (argv: readonly string[]) => Promise<Verified> {
  const runs = spawn(python, [RUNS], { env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'inherit'] });
  const { stdin, stdout } = runs as unknown as { stdin: Socket; stdout: Socket };
  // It waits for its next line, and must not keep this process from ending.
  for (const part of [runs, stdin, stdout]) part.unref();
  const answers = createInterface(stdout)[Symbol.asyncIterator]();
  const verify = async (argv: readonly string[]): Promise<Verified> => {
    stdin.write(`${JSON.stringify(argv)}\n`);
    const answer = await answers.next();
    if (answer.done) throw new Error(`${RUNS} ended before it answered`);
    const [code, out, err] = JSON.parse(answer.value);
    return { code, stdout: out, stderr: err };
  };
  let last: Promise<unknown> = Promise.resolve();
  return (argv) => {
    const verified = last.then(() => verify(argv));
    last = verified.catch(() => undefined);
    return verified;
  };
}
