/** A hash of SHA-256: 32 bytes. */
export type Hash = Uint8Array;

export const HASH_BYTES = 32;

export function isHash(value: Uint8Array): boolean {
  return value.length === HASH_BYTES;
}
