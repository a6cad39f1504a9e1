#!/usr/bin/env -S node --max-semi-space-size=64
// Room for young objects, in MiB: under load, requests that wait for a flush then outlive fewer garbage collections.
import { existsSync } from 'node:fs';

const program = new URL('../dist/program/main.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  process.stderr.write('urn: not built yet (hint: npm ci && npm run build)\n');
  process.exitCode = 2;
}
