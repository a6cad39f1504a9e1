/** The Merkle tree of a stream, and proofs about it. */
import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import { CompactRange } from '../../../src/core/ledger/compact-range.ts';
import { nodeHash } from '../../../src/core/ledger/merkle-hash.ts';
import { MerkleTree } from '../../../src/core/ledger/merkle-tree.ts';
import { verifyConsistency, verifyInclusion } from '../../../src/core/ledger/proofs.ts';
import {
  flipBit,
  referencePath,
  referenceProof,
  referenceRoot,
  someLeaves,
} from '../../support/merkle-reference.ts';
import { check } from '../../support/property.ts';
import published from '../../vectors/merkle-reference-tree.json' with { type: 'json' };

const MOST = 40;
const LEAVES = someLeaves(MOST);

function treeOf(leaves: readonly Uint8Array[]): MerkleTree {
  const tree = new MerkleTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree;
}
const TREE = treeOf(LEAVES);
const ROOTS = Array.from({ length: MOST + 1 }, (_, size) => TREE.root(size));
const leafAt = (index: number) => LEAVES[index] ?? Buffer.alloc(0);
const rootAt = (size: number) => ROOTS[size] ?? Buffer.alloc(0);

const OTHER = createHash('sha256').update('something else').digest();
const EMPTY = createHash('sha256').digest();
/** Neither leaves nor roots. */
const WRONG = [EMPTY, OTHER, Buffer.from('WrongHash'), Buffer.alloc(0)];
const hex = (hashes: readonly Uint8Array[]) => hashes.map((hash) => Buffer.from(hash).toString('hex'));
const fromHex = (hashes: readonly string[]) => hashes.map((hash) => Buffer.from(hash, 'hex'));

describe('the tree of Certificate Transparency’s tests', () => {
  const leaves = published.leaves.map((data) => leafHash(Buffer.from(data, 'hex')));
  const tree = treeOf(leaves);
  const roots = fromHex(published.roots);

  it('has the published root at each size', () => {
    expect(hex(published.roots.map((_, size) => tree.root(size)))).toEqual(published.roots);
  });

  it.each(published.inclusion)(
    'has the published path of leaf $index among $size',
    ({ index, size, proof }) => {
      expect(hex(tree.inclusionProof(index, size))).toEqual(proof);
      const [leaf, root] = [leaves[index], roots[size]] as [Buffer, Buffer];
      expect(verifyInclusion(leaf, index, size, fromHex(proof), root)).toBe(true);
    },
  );

  it.each(published.consistency)(
    'has the published proof from $first to $second',
    ({ first, second, proof }) => {
      expect(hex(tree.consistencyProof(first, second))).toEqual(proof);
      const [before, after] = [roots[first], roots[second]] as [Buffer, Buffer];
      expect(verifyConsistency(first, before, second, after, fromHex(proof))).toBe(true);
    },
  );
});

describe('a Merkle tree', () => {
  it(`agrees with the definitions of RFC 6962 at every size up to ${MOST}`, () => {
    for (let size = 0; size <= MOST; size++) {
      const leaves = LEAVES.slice(0, size);
      expect(TREE.root(size)).toEqual(referenceRoot(leaves));
      for (let i = 0; i < size; i++) {
        expect(hex(TREE.inclusionProof(i, size))).toEqual(hex(referencePath(i, leaves)));
        expect(hex(TREE.consistencyProof(i + 1, size))).toEqual(hex(referenceProof(i + 1, leaves)));
      }
    }
  });

  it('gives the same answer for an earlier size as it did at that size', () => {
    const tree = new MerkleTree();
    for (const [i, leaf] of LEAVES.entries()) {
      tree.append(leaf);
      expect(tree.size).toBe(i + 1);
      expect(tree.root()).toEqual(rootAt(i + 1));
      expect(tree.inclusionProof(0)).toEqual(TREE.inclusionProof(0, i + 1));
      expect(tree.consistencyProof(1)).toEqual(TREE.consistencyProof(1, i + 1));
    }
  });

  it('agrees with the definitions of RFC 6962 beyond the first chunk of its memory', () => {
    const leaves = someLeaves(2500);
    const tree = treeOf(leaves);
    check(
      fc.property(fc.integer({ min: 1, max: leaves.length }), fc.nat(), (size, some) => {
        const index = some % size;
        const beginning = leaves.slice(0, size);
        expect(tree.root(size)).toEqual(referenceRoot(beginning));
        expect(tree.inclusionProof(index, size)).toEqual(referencePath(index, beginning));
        expect(tree.consistencyProof(index + 1, size)).toEqual(referenceProof(index + 1, beginning));
      }),
      { numRuns: 20 },
    );
  });

  it('does not change when callers change their inputs or outputs', () => {
    const leaf = Buffer.from(leafAt(0));
    const [tree, compact] = [new MerkleTree(), new CompactRange()];
    for (const one of [tree, compact]) {
      one.append(leaf);
      leaf.fill(0);
      one.root().fill(1);
      expect(one.root()).toEqual(LEAVES[0]);
      leaf.set(leafAt(0));
    }
    for (const next of LEAVES.slice(1, 4)) tree.append(next);
    for (const hash of [...tree.inclusionProof(0), ...tree.consistencyProof(3), tree.root()]) hash.fill(2);
    expect(tree.root()).toEqual(rootAt(4));
    expect(tree.inclusionProof(0)).toEqual(TREE.inclusionProof(0, 4));
  });

  it('refuses sizes and indexes that do not exist', () => {
    const tree = treeOf(LEAVES.slice(0, 5));
    for (const size of [-1, 6, 1.5, Number.NaN]) {
      expect(() => tree.root(size)).toThrow(RangeError);
      expect(() => tree.inclusionProof(0, size)).toThrow(RangeError);
      expect(() => tree.consistencyProof(1, size)).toThrow(RangeError);
    }
    for (const index of [-1, 4, 5, 0.5, Number.NaN])
      expect(() => tree.inclusionProof(index, 4)).toThrow(RangeError);
    for (const first of [-1, 0, 5, 0.5, Number.NaN])
      expect(() => tree.consistencyProof(first, 4)).toThrow(RangeError);
  });

  it('refuses a leaf that is not a hash, and stays unchanged', () => {
    for (const one of [new MerkleTree(), new CompactRange()]) {
      for (const leaf of [Buffer.alloc(31), Buffer.alloc(33)])
        expect(() => one.append(leaf)).toThrow('a leaf hash has 32 bytes');
      expect(one.size).toBe(0);
    }
  });

  it('uses about 64 bytes per leaf', () => {
    const before = bytesInBuffers();
    const tree = treeOf(Array<Buffer>(100_000).fill(leafAt(0)));
    expect((bytesInBuffers() - before) / tree.size).toBeLessThan(72);
  });
});

it('a compact range has the root of the tree at every size', () => {
  const leaf = fc.uint8Array({ minLength: 32, maxLength: 32 });
  check(
    fc.property(fc.array(leaf, { maxLength: 200 }), (leaves) => {
      const [tree, compact] = [new MerkleTree(), new CompactRange()];
      for (const leaf of leaves) {
        tree.append(leaf);
        compact.append(leaf);
        expect(compact.size).toBe(tree.size);
        expect(compact.root()).toEqual(tree.root());
      }
    }),
    { numRuns: 20 },
  );
});

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

describe('a proof', () => {
  const sizes = Array.from({ length: MOST }, (_, i) => i + 1);
  /** Where the tree has each shape, and another at the next powers of two: spoiling every proof takes most of the time. */
  const isSpoiled = (size: number) => size <= 17 || (size >= 31 && size <= 34);

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
    for (const leaf of LEAVES.with(25, OTHER)) forged.append(leaf);
    for (let first = 1; first <= MOST; first++) {
      const proof = forged.consistencyProof(first);
      const honest = first <= 25;
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

/** Of this process, after garbage collection. */
function bytesInBuffers(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}
