/** The process of `BandKeeper`: it keeps the bands of some studies, and advances them one order at a time. */
import { setPriority } from 'node:os';
import { toJson } from '../../base/json.ts';
import type { Step } from '../replicate/steps.ts';
import { Band } from './band.ts';

/** `key` names the band; the parent process chooses it. */
export type BandOrder =
  | { readonly type: 'begin'; readonly key: string; readonly reps: number; readonly seed: number }
  | { readonly type: 'steps'; readonly key: string; readonly steps: readonly Step[] }
  | { readonly type: 'show'; readonly key: string }
  | { readonly type: 'drop'; readonly key: string };

/** For `show`, the band as JSON text; for any other order, nothing. */
export type BandReply = string | undefined;

/** On the scale of `nice`: all other work of the service comes first. */
const NICENESS = 10;

setPriority(NICENESS);
const bands = new Map<string, Band>();

process.on('message', (order: BandOrder) => {
  process.send?.({ reply: carryOut(order) });
});
// The service has ended in some way.
process.on('disconnect', () => process.exit());
// Signals may reach every process of the service, which ends this one when it stops.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);

function carryOut(order: BandOrder): BandReply {
  const { type, key } = order;
  if (type === 'begin') bands.set(key, new Band(order.reps, order.seed));
  else if (type === 'drop') bands.delete(key);
  else {
    const band = bands.get(key);
    if (!band) throw new Error(`${type} of a band that has not begun`);
    if (type === 'show') return toJson(band.result());
    for (const step of order.steps) band.take(step);
  }
  return undefined;
}
