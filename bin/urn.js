#!/usr/bin/env -S node --max-semi-space-size=64
// Room for young objects, in MiB: under load, requests that wait for a flush then outlive fewer garbage collections.
import { existsSync } from 'node:fs';

// Before anything is loaded or opened: the first process of a container ignores a signal that it does not handle. A service that
// is still starting has accepted nothing that it would have to finish; one that has handles the signal itself.
if (['serve', 'relay'].includes(process.argv[2]))
  for (const signal of ['SIGTERM', 'SIGINT'])
    process.once(signal, () => {
      // Once removes this one before it is called.
      if (process.listenerCount(signal) > 0) return;
      process.stderr.write('urn: stopped before it was ready\n');
      process.exit(0);
    });

const program = new URL('../dist/program/main.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  process.stderr.write('urn: not built yet (hint: npm ci && npm run build)\n');
  process.exitCode = 2;
}
