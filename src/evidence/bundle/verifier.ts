/** The stand-alone verifier that goes into every bundle: verifier/verify_bundle.py. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

export function readVerifier(): { readonly source: Buffer; readonly sha256: string } {
  const source = readFileSync(createRequire(import.meta.url).resolve('#verifier'));
  return { source, sha256: hash('sha256', source) };
}
