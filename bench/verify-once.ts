/** Verifies the log in a folder and reports the cost to its parent. */

import { verifyLog } from '../src/evidence/verify/verify.ts';
import { openForVerification } from '../src/service/open/open-store.ts';

export interface Verified {
  readonly ok: boolean;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The maximum. */
  readonly residentMiB: number;
}

const source = await openForVerification({ data: process.argv[2] ?? '' });
const { ok, seconds } = await verifyLog({ source, trusted: [], checkpoints: [] });
await source.close();
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
const verified: Verified = {
  ok,
  seconds,
  cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
  residentMiB: maxRSS / 1024,
};
process.send?.(verified);
