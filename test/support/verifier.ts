/** The stand-alone verifier of bundles, in a Python child process. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The verifier of the repository: that of a bundle is not to be trusted. */
const VERIFIER = fileURLToPath(new URL('../../verifier/verify_bundle.py', import.meta.url));

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
    env: { ...process.env, PYTHONUTF8: '1', PYTHONDONTWRITEBYTECODE: '1', ...env },
  });
  if (error) throw error;
  return { code: status, stdout, stderr };
}
