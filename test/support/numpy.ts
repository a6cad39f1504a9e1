/** numpy itself, in a Python child process, for comparison. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { StudyConfiguration } from '../../events/study.ts';
import { inCi } from './in-ci.ts';

export type Operation =
  | { readonly op: 'uint64' | 'random' | 'reload' }
  | { readonly op: 'below'; readonly n: number }
  | { readonly op: 'choice'; readonly balls: readonly number[] };

interface OracleRequest {
  readonly sequences: readonly { readonly seed: string; readonly operations: readonly Operation[] }[];
  readonly histories: readonly {
    readonly seed: string;
    readonly configuration: StudyConfiguration;
    /** Of each participant: the name of the level of each factor, in the order of the factors. */
    readonly participants: readonly (readonly string[])[];
  }[];
}

/** Of each in its order: the start, and what came of each operation or participant. */
const OracleAnswer = z.object({ sequences: z.array(z.unknown()), histories: z.array(z.unknown()) });

/** By modules. Test files share what they find. */
const found = new Map<string, string | undefined>();

/** The first Python that can import numpy, or these modules: the environment's PYTHON, python3, the system's own. */
export function findPython(modules = 'numpy'): string | undefined {
  if (!found.has(modules)) found.set(modules, firstThatImports(modules));
  return found.get(modules);
}

function firstThatImports(modules: string): string | undefined {
  const interpreters = new Set([process.env['PYTHON'] || 'python3', 'python3', '/usr/bin/python3']);
  const program = [
    'import sys',
    'from importlib.util import find_spec',
    // Whether they are there: importing some takes a second.
    'sys.exit(not all(map(find_spec, sys.argv[1:])))',
  ].join('\n');
  return [...interpreters].find(
    (command) =>
      spawnSync(command, ['-c', program, ...modules.split(', ')], { stdio: 'ignore' }).status === 0,
  );
}

/**
 * Like `findPython`. Undefined on a machine without numpy, where the test is skipped with a warning. In CI it returns a
 * Python anyway, so that the test fails.
 */
export function requiredPython(modules = 'numpy'): string | undefined {
  const python = findPython(modules);
  if (python !== undefined) return python;
  if (inCi) return 'python3';
  // biome-ignore lint/suspicious/noConsole: a skipped proof must not go unnoticed
  console.warn(
    `LEFT OUT: no Python with ${modules} (Debian: apt install python3-numpy python3-pandas python3-cryptography)`,
  );
  return undefined;
}

/**
 * What a program in this folder answers in JSON.
 * @throws Error with what Python wrote to stderr when it fails
 */
export function askPython<T>(
  python: string,
  [name = '', ...args]: readonly string[],
  input: unknown,
  answer: z.ZodType<T>,
): T {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const { status, stdout, stderr, error } = spawnSync(python, [file, ...args], {
    input: JSON.stringify(input),
    encoding: 'utf8',
    // JSON is UTF-8 whatever the locale of the machine.
    env: { ...process.env, PYTHONUTF8: '1' },
    maxBuffer: 2 ** 28,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${name} failed with status ${status}:\n${stderr}`);
  return answer.parse(JSON.parse(stdout));
}

export const askNumpy = (python: string, request: OracleRequest) =>
  askPython(python, ['numpy-oracle.py'], request, OracleAnswer);
