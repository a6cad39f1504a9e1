import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import { CompactRange } from '../../../src/core/ledger/compact-range.ts';
import { MerkleTree } from '../../../src/core/ledger/merkle-tree.ts';
import { referencePath, referenceProof, referenceRoot, someLeaves } from '../../support/merkle-reference.ts';
import { check } from '../../support/property.ts';
import published from '../../vectors/merkle-reference-tree.json' with { type: 'json' };

const MOST = 70;
const LEAVES = someLeaves(MOST);

function treeOf(leaves: readonly Uint8Array[]): MerkleTree {
  const tree = new MerkleTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree;
}

const hex = (hashes: readonly Uint8Array[]) => hashes.map((hash) => Buffer.from(hash).toString('hex'));

describe('the tree of Certificate Transparency’s tests', () => {
  const tree = treeOf(published.leaves.map((data) => leafHash(Buffer.from(data, 'hex'))));

  it('has the published root at each size', () => {
    expect(hex(published.roots.map((_, size) => tree.root(size)))).toEqual(published.roots);
  });

  it.each(published.inclusion)('has the published path of leaf $index among $size', (path) => {
    expect(hex(tree.inclusionProof(path.index, path.size))).toEqual(path.proof);
  });

  it.each(published.consistency)('has the published proof from $first to $second', (proof) => {
    expect(hex(tree.consistencyProof(proof.first, proof.second))).toEqual(proof.proof);
  });
});

describe('a Merkle tree', () => {
  it(`agrees with the definitions of RFC 6962 at every size up to ${MOST}`, () => {
    const tree = treeOf(LEAVES);
    for (let size = 0; size <= MOST; size++) {
      const leaves = LEAVES.slice(0, size);
      expect(tree.root(size)).toEqual(referenceRoot(leaves));
      for (let i = 0; i < size; i++) {
        expect(hex(tree.inclusionProof(i, size))).toEqual(hex(referencePath(i, leaves)));
        expect(hex(tree.consistencyProof(i + 1, size))).toEqual(hex(referenceProof(i + 1, leaves)));
      }
    }
  });

  it('gives the same answer for an earlier size as it did at that size', () => {
    const tree = new MerkleTree();
    for (const [i, leaf] of LEAVES.entries()) {
      tree.append(leaf);
      expect(tree.size).toBe(i + 1);
      expect(tree.root()).toEqual(treeOf(LEAVES).root(i + 1));
      expect(tree.inclusionProof(0)).toEqual(treeOf(LEAVES).inclusionProof(0, i + 1));
      expect(tree.consistencyProof(1)).toEqual(treeOf(LEAVES).consistencyProof(1, i + 1));
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
    const leaf = Buffer.from(LEAVES[0] ?? '');
    const [tree, compact] = [new MerkleTree(), new CompactRange()];
    for (const one of [tree, compact]) {
      one.append(leaf);
      leaf.fill(0);
      one.root().fill(1);
      expect(one.root()).toEqual(LEAVES[0]);
      leaf.set(LEAVES[0] ?? []);
    }
    for (const next of LEAVES.slice(1, 4)) tree.append(next);
    for (const hash of [...tree.inclusionProof(0), ...tree.consistencyProof(3), tree.root()]) hash.fill(2);
    expect(tree.root()).toEqual(referenceRoot(LEAVES.slice(0, 4)));
    expect(tree.inclusionProof(0)).toEqual(referencePath(0, LEAVES.slice(0, 4)));
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
    expect(() => new MerkleTree().inclusionProof(0)).toThrow(RangeError);
  });

  it('refuses a leaf that is not a hash, and stays unchanged', () => {
    for (const one of [new MerkleTree(), new CompactRange()]) {
      for (const leaf of [Buffer.alloc(31), Buffer.alloc(33), Buffer.alloc(0)])
        expect(() => one.append(leaf)).toThrow('a leaf hash has 32 bytes');
      expect(one.size).toBe(0);
    }
  });

  it('uses about 64 bytes per leaf', () => {
    const tree = new MerkleTree();
    const leaf = LEAVES[0] ?? Buffer.alloc(0);
    const before = bytesInBuffers();
    for (let i = 0; i < 100_000; i++) tree.append(leaf);
    expect((bytesInBuffers() - before) / tree.size).toBeLessThan(72);
  });
});

describe('a compact range', () => {
  it('has the root of the tree at every size', () => {
    check(
      fc.property(fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { maxLength: 200 }), (leaves) => {
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
});

/** Of this process, after garbage collection. */
function bytesInBuffers(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}
