/**
 * Loaded into a program with NODE_OPTIONS=--import=<this file>: its Date is off by as many ms as the file named by
 * SHIFTED_CLOCK says, from one reading to the next.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';

const RealDate = Date;
const file = process.env.SHIFTED_CLOCK;

function now() {
  return RealDate.now() + Number(readFileSync(file, 'utf8'));
}

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...parts) {
    super(...(parts.length === 0 ? [now()] : parts));
  }

  static now() {
    return now();
  }
};
