/** The two verifiers of bundles: the stand-alone one, in a Python child process, and `urn verify --bundle`. */
import { spawn, spawnSync } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { DomainError } from '../../src/base/errors.ts';
import { checkpointsIn } from '../../src/cli/files.ts';
import { UsageError } from '../../src/cli/options.ts';
import { parsedStudyId, trustedKey } from '../../src/cli/verify.ts';
import { BundleError } from '../../src/evidence/bundle/zip-reader.ts';
import type { Divergence, Report } from '../../src/evidence/verify/report/report.ts';
import { reportText } from '../../src/evidence/verify/report/report-text.ts';
import { verifyBundle } from '../../src/evidence/verify/verify-bundle.ts';
import type { Finished } from './service.ts';

/** The verifier in the repository: the one in a bundle must not be trusted. */
const VERIFIER = fileURLToPath(new URL('../../verifier/verify_bundle.py', import.meta.url));
const RUNS = fileURLToPath(new URL('verifier-runs.py', import.meta.url));

const ENVIRONMENT = { ...process.env, PYTHONUTF8: '1', PYTHONDONTWRITEBYTECODE: '1' };

function run(python: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Finished {
  const { status, stdout, stderr, error } = spawnSync(python, args, {
    encoding: 'utf8',
    env: { ...ENVIRONMENT, ...env },
  });
  if (error) throw error;
  return { code: status, stdout, stderr };
}

export const runVerifier = (
  python: string,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
) => run(python, [VERIFIER, ...args], env);

/** The value of an expression over the verifier's own names, as JSON. */
export function verifierValue(python: string, expression: string): unknown {
  const program = `import json, runpy, sys
globals().update(runpy.run_path(sys.argv[1], run_name="verifier"))
print(json.dumps(${expression}))`;
  const { code, stdout, stderr } = run(python, ['-c', program, VERIFIER]);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** The processes of this one that run verifiers, by interpreter: test files share them, and they end with this process. */
const loaded = new Map<string, ReturnType<typeof startRuns>>();

/** Like `runVerifier`, for tests that run it often: one process does all runs. */
export function loadedVerifier(python: string): (args: readonly string[]) => Promise<Finished> {
  return (args) => {
    const run = loaded.get(python) ?? startRuns(python);
    loaded.set(python, run);
    return run(args);
  };
}

function startRuns(python: string): (args: readonly string[]) => Promise<Finished> {
  const runs = spawn(python, [RUNS, VERIFIER], { env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'inherit'] });
  const { stdin, stdout } = runs as unknown as { stdin: Socket; stdout: Socket };
  // It waits for its next line, and must not keep this process from ending.
  for (const part of [runs, stdin, stdout]) part.unref();
  const answers = createInterface(stdout)[Symbol.asyncIterator]();
  const verify = async (args: readonly string[]): Promise<Finished> => {
    stdin.write(`${JSON.stringify(args)}\n`);
    const answer = await answers.next();
    if (answer.done) throw new Error(`${RUNS} ended before it answered`);
    const [code, out, err] = JSON.parse(answer.value);
    return { code, stdout: out, stderr: err };
  };
  let last: Promise<unknown> = Promise.resolve();
  return (args) => {
    const verified = last.then(() => verify(args));
    last = verified.catch(() => undefined);
    return verified;
  };
}

type OwnVerdict = Awaited<ReturnType<typeof verifyOurselves>>;

/**
 * The exit code and the report of `urn verify --bundle`, without starting a process each time.
 * @param args `--trust`, `--checkpoint` and `--study-id`, as the verifier in Python takes them
 */
export async function verifyOurselves(file: string, args: readonly string[]) {
  const of = (option: string) => args.filter((_, i) => args[i - 1] === option);
  try {
    const report = await verifyBundle({
      file,
      trusted: of('--trust').map(trustedKey),
      checkpoints: of('--checkpoint').flatMap(checkpointsIn),
      studyId: of('--study-id').map(parsedStudyId)[0],
    });
    return { code: report.ok ? 0 : 1, report: report as Report | undefined, text: reportText(report) };
  } catch (error) {
    const isToldToUsers = [BundleError, UsageError, DomainError].some((kind) => error instanceof kind);
    if (!isToldToUsers || !(error instanceof Error)) throw error;
    return { code: 2, report: undefined, text: error.message };
  }
}

/** Of the first stream that has one. */
export function firstDivergence(own: OwnVerdict): (Divergence & { readonly stream: string }) | undefined {
  const found = own.report?.streams.find(({ divergence }) => divergence);
  return found?.divergence && { stream: found.stream, ...found.divergence };
}

export function pythonVerifier(python: string) {
  const verify = loadedVerifier(python);
  return async (file: string, args: readonly string[] = []) => {
    const verified = await verify([file, ...args]);
    // The first divergence that it prints.
    const [, stream, revision] = /^FAILED {2}(\S+), revision (\d+): /m.exec(verified.stdout) ?? [];
    const first = stream === undefined ? undefined : { stream, revision: Number(revision) };
    return { ...verified, first };
  };
}

/** @returns a function that verifies a file with both, which must reach the same verdict: exit code and first divergence */
export function bothVerifiers(python: string) {
  const verifyInPython = pythonVerifier(python);
  return async (file: string, args: readonly string[] = []) => {
    const verified = await verifyInPython(file, args);
    const own = await verifyOurselves(file, args);
    const said = `${verified.stdout}${verified.stderr}\n${own.text}`;
    expect(own.code, said).toBe(verified.code);
    const ours = firstDivergence(own);
    // An untrusted key is a divergence of `log` for one verifier, and a failure of its own for the other.
    if (!own.report?.untrustedKey)
      expect(ours && { stream: ours.stream, revision: ours.revision }, said).toEqual(verified.first);
    return { ...verified, own };
  };
}
