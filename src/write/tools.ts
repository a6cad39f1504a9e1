import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import type { WriterTools } from './writer.ts';

/** Salts are cut from a block of this many random bytes: one call to the operating system for 64 of them. */
const BLOCK_BYTES = 1024;
const SALT_BYTES = 16;

/** The real clock, ids and randomness. */
export function systemTools(): WriterTools {
  let block = Buffer.alloc(0);
  return {
    now: () => new Date(),
    newId: () => v7(),
    newSalt: () => {
      if (block.length < SALT_BYTES) block = randomBytes(BLOCK_BYTES);
      const salt = block.toString('hex', 0, SALT_BYTES);
      block = block.subarray(SALT_BYTES);
      return salt;
    },
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}
