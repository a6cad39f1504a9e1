import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';

/** The clock, the ids and the randomness. Tests replace them. */
export interface Tools {
  readonly now: () => Date;
  readonly newId: () => string;
  /** 128 random bits in lower-case hex. */
  readonly newSalt: () => string;
  /** Waits for `ms`: the jittered delay between retries, and the turn of the rest of the process. */
  readonly pause: (ms: number) => Promise<void>;
}

/** Ids and salts are cut from a block of this size, so that 64 of them cost one call to the operating system. */
const BLOCK_BYTES = 1024;
const RANDOM_BYTES = 16;

/** The real clock, ids and randomness. */
export function systemTools(): Tools {
  let block = Buffer.alloc(0);
  const next = (): Buffer => {
    if (block.length < RANDOM_BYTES) block = randomBytes(BLOCK_BYTES);
    const bytes = block.subarray(0, RANDOM_BYTES);
    block = block.subarray(RANDOM_BYTES);
    return bytes;
  };
  return {
    now: () => new Date(),
    newId: () => v7({ random: next() }),
    newSalt: () => next().toString('hex'),
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}
