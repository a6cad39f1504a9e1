import type { Runner } from '../../projections/runner.ts';
import { WriteGate } from '../../src/core/log/write-gate.ts';

/** The write gate of a log that has signed nothing yet, so nothing that it signed can be missing. */
export function openGate(runner: Runner): WriteGate {
  const gate = new WriteGate({ runner });
  gate.compared('all', []);
  return gate;
}
