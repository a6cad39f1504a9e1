/** A clock, ids and salts that are the same in every run, so a test can predict what it writes. */
import type { Tools } from '../../src/base/tools.ts';

export const LOG_ID = '0193a8e0-0000-7000-8000-00000000beef';

/** The n-th id that `fixedTools` gives, from 1. `series` tells the tools of different processes apart. */
export const fixedId = (n: number, series = 0): string =>
  `0193a8e0-${hex(series, 4)}-7000-8000-${hex(n, 12)}`;

/** The n-th id as a UUID of version 7 that was made at that time. */
export function idAt(at: string, n: number): string {
  const ms = hex(Date.parse(at), 12);
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${hex(n, 12)}`;
}

/** @param start the first reading of the clock, which advances by a second at every reading */
export function fixedTools(series = 0, start = '2026-03-01T09:00:00.000Z'): Tools {
  let readings = 0;
  let ids = 0;
  let salts = 0;
  return {
    now: () => new Date(Date.parse(start) + 1000 * readings++),
    newId: () => fixedId(++ids, series),
    newSalt: () => hex(series, 4) + hex(++salts, 28),
    pause: () => new Promise(setImmediate),
  };
}

const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0');
