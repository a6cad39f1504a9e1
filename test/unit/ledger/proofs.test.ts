import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import { nodeHash } from '../../../src/core/ledger/merkle-hash.ts';
import { MerkleTree } from '../../../src/core/ledger/merkle-tree.ts';
import { verifyConsistency, verifyInclusion } from '../../../src/core/ledger/proofs.ts';
import { flipBit, someLeaves } from '../../support/merkle-reference.ts';
import { check } from '../../support/property.ts';
import published from '../../vectors/merkle-reference-tree.json' with { type: 'json' };
import sumdb from '../../vectors/sumdb-proof.json' with { type: 'json' };

const MOST = 70;
const LEAVES = someLeaves(MOST);
const TREE = new MerkleTree();
for (const leaf of LEAVES) TREE.append(leaf);
const ROOTS = Array.from({ length: MOST + 1 }, (_, size) => TREE.root(size));
const leafAt = (index: number) => LEAVES[index] ?? Buffer.alloc(0);

const rootAt = (size: number) => ROOTS[size] ?? Buffer.alloc(0);

const OTHER = createHash('sha256').update('something else').digest();
const EMPTY = createHash('sha256').digest();
/** Neither leaves nor roots. */
const WRONG = [EMPTY, OTHER, Buffer.from('WrongHash'), Buffer.alloc(0)];
const fromHex = (hashes: readonly string[]) => hashes.map((hash) => Buffer.from(hash, 'hex'));

/** What CT's tests try on every good proof, and then some: none of it may pass. `roots` are what a forger has. */
function spoiled(proof: readonly Uint8Array[], roots: readonly Uint8Array[]): Uint8Array[][] {
  const garbage = [...roots, ...proof, OTHER, EMPTY, Buffer.alloc(0), Buffer.alloc(31), Buffer.alloc(33)];
  return [
    ...garbage.flatMap((hash) => [
      [...proof, hash],
      [hash, ...proof],
    ]),
    ...proof.flatMap((hash, i) => [
      proof.with(i, flipBit(hash, (37 * i) % 256)),
      proof.with(i, hash.subarray(1)),
      proof.with(i, Buffer.concat([hash, Buffer.of(0)])),
      proof.toSpliced(i, 1),
    ]),
  ];
}

describe('published proofs', () => {
  const roots = fromHex(published.roots);
  const publishedRoot = (size: number) => roots[size] ?? Buffer.alloc(0);

  it.each(published.inclusion)('prove leaf $index among $size', ({ index, size, proof }) => {
    const leaf = leafHash(Buffer.from(published.leaves[index] ?? '', 'hex'));
    expect(verifyInclusion(leaf, index, size, fromHex(proof), publishedRoot(size))).toBe(true);
  });

  it.each(published.consistency)(
    'prove that the first $first leaves begin the tree of $second',
    ({ first, second, proof }) => {
      const [before, after] = [publishedRoot(first), publishedRoot(second)];
      expect(verifyConsistency(first, before, second, after, fromHex(proof))).toBe(true);
    },
  );

  it('prove an entry of the Go checksum database in its tree of 58 million', () => {
    const leaf = leafHash(Buffer.from(sumdb.entry));
    expect(leaf.toString('hex')).toBe(sumdb.leaf);
    const [, size = '', root = ''] = sumdb.checkpoint.split('\n');
    const proof = sumdb.proof.map((hash) => Buffer.from(hash, 'base64'));
    const shown = (index: number) =>
      verifyInclusion(leaf, index, Number(size), proof, Buffer.from(root, 'base64'));
    expect(shown(sumdb.index)).toBe(true);
    expect(shown(sumdb.index + 1)).toBe(false);
  });
});

describe('a proof', () => {
  const sizes = Array.from({ length: MOST }, (_, i) => i + 1);
  /** Where the tree has each shape, and another at the next powers of two: spoiling every proof takes most of the time. */
  const isSpoiled = (size: number) => size <= 34 || size >= 63;

  it(`shows every leaf at every size up to ${MOST}, at its index and in its tree only`, () => {
    for (const size of sizes) {
      const root = rootAt(size);
      for (let index = 0; index < size; index++) {
        const leaf = leafAt(index);
        const proof = TREE.inclusionProof(index, size);
        const isShown = (path: readonly Uint8Array[] = proof, at = index, within = size) =>
          verifyInclusion(leaf, at, within, path, rootAt(within));
        expect(isShown()).toBe(true);
        if (isSpoiled(size)) {
          expect(spoiled(proof, [root, leaf]).filter((wrong) => isShown(wrong))).toEqual([]);
          const isLeafOrRoot = (wrong: Uint8Array) =>
            verifyInclusion(wrong, index, size, proof, root) ||
            verifyInclusion(leaf, index, size, proof, wrong);
          expect(WRONG.filter(isLeafOrRoot)).toEqual([]);
        }
        expect([0, ...sizes].filter((other) => isShown(proof, other))).toEqual([index]);
        expect(sizes.filter((other) => isShown(proof, index, other))).toEqual([size]);
      }
    }
  });

  it(`shows that every tree begins every larger one up to ${MOST}, and no other`, () => {
    for (const second of sizes) {
      for (const first of sizes.slice(0, second)) {
        const proof = TREE.consistencyProof(first, second);
        const isShown = (steps: readonly Uint8Array[] = proof, from = first, to = second) =>
          verifyConsistency(from, rootAt(from), to, rootAt(to), steps);
        expect(isShown()).toBe(true);
        if (isSpoiled(second)) {
          const wrongs = spoiled(proof, [rootAt(first), rootAt(second)]);
          expect(wrongs.filter((wrong) => isShown(wrong))).toEqual([]);
          const isRoot = (wrong: Uint8Array) =>
            verifyConsistency(first, wrong, second, rootAt(second), proof) ||
            verifyConsistency(first, rootAt(first), second, wrong, proof);
          expect(WRONG.filter(isRoot)).toEqual([]);
        }
        if (first === second) continue;
        expect(verifyConsistency(first, rootAt(second), second, rootAt(first), proof)).toBe(false);
        expect(isShown([])).toBe(false);
        expect(sizes.filter((other) => isShown(proof, other))).toEqual([first]);
        expect(sizes.filter((other) => isShown(proof, first, other))).toEqual([second]);
      }
    }
  });

  it('fails if any bit is flipped', () => {
    check(
      fc.property(fc.integer({ min: 1, max: MOST }), fc.nat(), fc.nat(), (size, some, bit) => {
        const index = some % size;
        const leaf = leafAt(index);
        const inclusion = [leaf, rootAt(size), ...TREE.inclusionProof(index, size)];
        const [l = leaf, r = leaf, ...path] = flipOne(inclusion, bit);
        expect(verifyInclusion(l, index, size, path, r)).toBe(false);
        const first = index + 1;
        const consistency = [rootAt(first), rootAt(size), ...TREE.consistencyProof(first, size)];
        const [a = leaf, b = leaf, ...proof] = flipOne(consistency, bit);
        expect(verifyConsistency(first, a, size, b, proof)).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  it('fails if any record was changed, even the last', () => {
    const forged = new MerkleTree();
    for (const leaf of LEAVES.with(40, OTHER)) forged.append(leaf);
    for (let first = 1; first <= MOST; first++) {
      const proof = forged.consistencyProof(first);
      const honest = first <= 40;
      expect(verifyConsistency(first, rootAt(first), MOST, forged.root(), proof)).toBe(honest);
    }
  });

  it('is refused for sizes and indexes that do not exist', () => {
    const leaf = leafAt(0);
    for (const none of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      expect(verifyInclusion(leaf, none, 1, [], leaf)).toBe(false);
      expect(verifyInclusion(leaf, 0, none, [], leaf)).toBe(false);
      expect(verifyConsistency(none, leaf, none, leaf, [])).toBe(false);
      expect(verifyConsistency(1, leaf, none, leaf, [])).toBe(false);
    }
    expect(verifyInclusion(EMPTY, 0, 0, [], EMPTY)).toBe(false);
    expect(verifyConsistency(0, EMPTY, 0, EMPTY, [])).toBe(false);
    expect(verifyConsistency(0, EMPTY, 1, leaf, [])).toBe(false);
    expect(verifyConsistency(2, leaf, 1, leaf, [])).toBe(false);
  });
});

/**
 * A tree too large to be built: all its leaves are the same, so each complete subtree of one height has the same hash.
 */
describe('in a tree of up to 2^53 - 1 leaves', () => {
  const complete: Buffer[] = [leafAt(0)];
  for (let i = 0; i < 53; i++) complete.push(nodeHash(complete[i] ?? EMPTY, complete[i] ?? EMPTY));

  /** MTH, PATH and PROOF of RFC 6962, with the counts in place of the lists. */
  function root(n: bigint): Buffer {
    const k = split(n);
    return n === 2n * k || n === 1n ? at(n) : nodeHash(at(k), root(n - k));
  }
  function path(m: bigint, n: bigint): Buffer[] {
    if (n === 1n) return [];
    const k = split(n);
    return m < k ? [...path(m, k), root(n - k)] : [...path(m - k, n - k), root(k)];
  }
  function proof(m: bigint, n: bigint, known = true): Buffer[] {
    if (m === n) return known ? [] : [root(n)];
    const k = split(n);
    return m <= k ? [...proof(m, k, known), root(n - k)] : [...proof(m - k, n - k, false), root(k)];
  }
  function at(powerOfTwo: bigint): Buffer {
    return complete[powerOfTwo.toString(2).length - 1] ?? EMPTY;
  }
  function split(n: bigint): bigint {
    return n === 1n ? 0n : 2n ** BigInt((n - 1n).toString(2).length - 1);
  }

  const nearPowers = fc
    .tuple(fc.integer({ min: 1, max: 52 }), fc.integer({ min: -2, max: 2 }))
    .map(([log, more]) => Math.max(1, 2 ** log + more));
  const sizes = fc.oneof(
    fc.maxSafeNat().filter((n) => n > 0),
    nearPowers,
  );

  it('proofs are as RFC 6962 makes them', () => {
    check(
      fc.property(sizes, sizes, (a, b) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)];
        const [m, n] = [BigInt(less), BigInt(more)];
        const inclusion = path(m - 1n, n);
        expect(verifyInclusion(leafAt(0), less - 1, more, inclusion, root(n))).toBe(true);
        expect(verifyInclusion(leafAt(0), less - 1, more, [...inclusion, OTHER], root(n))).toBe(false);
        const consistency = proof(m, n);
        expect(verifyConsistency(less, root(m), more, root(n), consistency)).toBe(true);
        expect(verifyConsistency(less, root(m), more, root(n), [...consistency, OTHER])).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

function flipOne(hashes: readonly Uint8Array[], bit: number): Uint8Array[] {
  const i = Math.floor(bit / 256) % hashes.length;
  return hashes.map((hash, at) => (at === i ? flipBit(hash, bit % 256) : hash));
}
