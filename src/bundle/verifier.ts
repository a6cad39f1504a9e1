/** The stand-alone verifier that goes into every bundle: verifier/verify_bundle.py. */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

/** Its place relative to this file in the source, and in the build. */
const HERE = new URL('../../verifier/verify_bundle.py', import.meta.url);
const FROM_BUILD = new URL('../../../verifier/verify_bundle.py', import.meta.url);

export function readVerifier(): { readonly source: Buffer; readonly sha256: string } {
  const source = readFileSync(existsSync(HERE) ? HERE : FROM_BUILD);
  return { source, sha256: hash('sha256', source) };
}
