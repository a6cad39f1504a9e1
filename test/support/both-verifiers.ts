/** Runs both verifiers of bundles, the one in Python and `urn verify --bundle`, which must reach the same verdict. */
import { expect } from 'vitest';
import { firstDivergence, type OwnVerdict, verifyOurselves } from './own-verifier.ts';
import { loadedVerifier, type Verified } from './verifier.ts';

export interface BothVerdicts extends Verified {
  readonly own: OwnVerdict;
}

/** @returns a function that verifies a file with both: exit codes and the first divergence of a stream must be equal */
export function bothVerifiers(python: string) {
  const verifyInPython = loadedVerifier(python);
  return async (file: string, args: readonly string[] = []): Promise<BothVerdicts> => {
    const verified = await verifyInPython([file, ...args]);
    const own = await verifyOurselves(file, args);
    const said = `${verified.stdout}${verified.stderr}\n${own.text}`;
    expect(own.code, said).toBe(verified.code);
    const [, stream, revision] = /^FAILED {2}(\S+), revision (\d+): /m.exec(verified.stdout) ?? [];
    const ours = firstDivergence(own);
    // An untrusted key is a divergence of `log` for one verifier, and a failure of its own for the other.
    if (!own.report?.untrustedKey)
      expect(ours && [ours.stream, ours.revision], said).toEqual(stream && [stream, Number(revision)]);
    return { ...verified, own };
  };
}
