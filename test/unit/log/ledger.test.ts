/** The Merkle tree of a stream, proofs about it, the trees of a log with their checkpoints, and which of these a recovery covers. */
import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SignedSize } from '../../../events/log.ts';
import { leafHash } from '../../../events/record.ts';
import type { Recovery } from '../../../projections/log.ts';
import type { Runner } from '../../../projections/runner.ts';
import { recoveryCovering } from '../../../src/core/log/last-checkpoints.ts';
import { Ledger } from '../../../src/core/log/ledger.ts';
import {
  CompactRange,
  MerkleTree,
  nodeHash,
  verifyConsistency,
  verifyInclusion,
} from '../../../src/core/log/merkle-tree.ts';
import { findLoss } from '../../../src/core/log/recovery.ts';
import { makeSigningKey, openCheckpoint, parseVerifierKey } from '../../../src/core/log/signing.ts';
import {
  flipBit,
  type RootOf,
  referencePath,
  referenceProof,
  referenceRoot,
  rootIn,
  someLeaves,
  split,
} from '../../support/merkle-reference.ts';
import { check } from '../../support/property.ts';
import published from '../../vectors/merkle-reference-tree.json' with { type: 'json' };

const MOST = 34;
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

const OTHER = hash('sha256', 'something else', 'buffer');
const EMPTY = hash('sha256', '', 'buffer');
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
      expect(TREE.root(size)).toEqual(referenceRoot(LEAVES.slice(0, size)));
      for (let i = 0; i < size; i++) {
        expect(TREE.inclusionProof(i, size)).toEqual(referencePath(i, size, rootIn(LEAVES)));
        expect(TREE.consistencyProof(i + 1, size)).toEqual(referenceProof(i + 1, size, rootIn(LEAVES)));
      }
    }
  });

  it('agrees with the definitions of RFC 6962 beyond the first chunk of its memory', () => {
    const leaves = someLeaves(2500);
    const tree = treeOf(leaves);
    check(
      fc.property(fc.integer({ min: 1, max: leaves.length }), fc.nat(), (size, some) => {
        const index = some % size;
        expect(tree.root(size)).toEqual(referenceRoot(leaves.slice(0, size)));
        expect(tree.inclusionProof(index, size)).toEqual(referencePath(index, size, rootIn(leaves)));
        expect(tree.consistencyProof(index + 1, size)).toEqual(
          referenceProof(index + 1, size, rootIn(leaves)),
        );
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
    expect(tree.consistencyProof(1)).toEqual(TREE.consistencyProof(1, 4));
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
  const isSpoiled = (size: number) => size <= 17 || size >= 31;

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

  const root: RootOf = (from, to) => {
    const k = split(to - from);
    if (to - from === 2 * k || to - from === 1) return complete[Math.log2(to - from)] ?? EMPTY;
    return nodeHash(root(from, from + k), root(from + k, to));
  };

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
        const [before, after] = [root(0, less), root(0, more)];
        const inclusion = referencePath(less - 1, more, root);
        expect(verifyInclusion(leafAt(0), less - 1, more, inclusion, after)).toBe(true);
        expect(verifyInclusion(leafAt(0), less - 1, more, [...inclusion, OTHER], after)).toBe(false);
        const consistency = referenceProof(less, more, root);
        expect(verifyConsistency(less, before, more, after, consistency)).toBe(true);
        expect(verifyConsistency(less, before, more, after, [...consistency, OTHER])).toBe(false);
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

const signingKey = makeSigningKey('trial-7');
const trusted = [parseVerifierKey(signingKey.publicKey, 'the key')];

function ledgerOf(leaves: Readonly<Record<string, number>>, recovery = () => 0): Ledger {
  const ledger = new Ledger({ logName: 'trial-7', signingKey }, recovery, () => undefined);
  for (const [stream, count] of Object.entries(leaves))
    for (const leaf of someLeaves(count)) ledger.append(stream, leaf);
  return ledger;
}

const rootOf = (count: number) => referenceRoot(someLeaves(count));

describe('a ledger', () => {
  it('signs the size and the root of each stream', () => {
    const ledger = ledgerOf({ access: 1, 'study-a': 13 });
    for (const [stream, size] of [
      ['access', 1],
      ['study-a', 13],
    ] as const) {
      const { note, origin, size: said, base64 } = ledger.checkpoint(stream);
      expect({ origin, said }).toEqual({ origin: `trial-7/${stream}`, said: size });
      expect(Buffer.from(base64, 'base64').toString()).toBe(note);
      expect(openCheckpoint(note, trusted)).toMatchObject({
        type: 'signed',
        checkpoint: { origin, size, root: new Uint8Array(rootOf(size)), extensions: [] },
      });
    }
    expect(ledger.streams()).toEqual(['access', 'study-a']);
  });

  it('signs earlier states, and signs the newest state only once', () => {
    const ledger = ledgerOf({ 'study-a': 5 });
    const newest = ledger.checkpoint('study-a');
    expect(openCheckpoint(ledger.checkpoint('study-a', 3).note, trusted)).toMatchObject({
      checkpoint: { size: 3, root: new Uint8Array(rootOf(3)) },
    });
    expect(ledger.checkpoint('study-a')).toBe(newest);
    ledger.append('study-a', leafAt(5));
    expect(ledger.checkpoint('study-a').size).toBe(6);
    expect(ledger.checkpoint('study-a', 5).note).toBe(newest.note);
  });

  it('refuses to sign more records than it has', () => {
    const ledger = ledgerOf({ 'study-a': 5 });
    expect(() => ledger.checkpoint('study-a', 6)).toThrow(RangeError);
    expect(() => ledger.checkpoint('study-b', 1)).toThrow(RangeError);
  });

  it('computes its trees at most 1,000 hashes per turn of the event loop', async () => {
    const ledger = ledgerOf({ access: 3, 'study-a': 5000 });
    let turns = 0;
    let others = setImmediate(function count() {
      turns++;
      others = setImmediate(count);
    });
    await ledger.warmUp();
    clearImmediate(others);
    expect(ledger.tree('study-a').grow(0)).toBe(true);
    expect(ledger.tree('study-a').root()).toEqual(rootOf(5000));
    expect(turns, 'a turn for each 1,000 hashes').toBeGreaterThanOrEqual(4);
  });

  it('accepts leaves while its trees are being computed', () => {
    const tree = ledgerOf({ 'study-a': 10 }).tree('study-a');
    for (let i = 10; i < MOST; i++) {
      tree.grow(1);
      tree.append(leafAt(i));
    }
    for (let size = 1; size <= MOST; size++) expect(tree.root(size)).toEqual(rootAt(size));
  });
});

const root = (n: number) => Buffer.alloc(32, n);
const base64 = (n: number) => root(n).toString('base64');

function recovery(number: number, kept: number, signed?: SignedSize): Recovery {
  const of = { stream: 'study-a', kept, ...(signed && { signed }) };
  return { recovery: number, reason: 'x', at: '', streams: new Map([['study-a', of]]) };
}
const state = (recovered: number, size: number, stream = 'study-a') => ({
  stream,
  recovery: recovered,
  size,
  root: root(size),
});
const said = (recoveries: readonly Recovery[], ...of: Parameters<typeof state>) => {
  const loss = recoveryCovering(recoveries, state(...of));
  return loss && [loss.recovery.recovery, loss.of.kept, loss.isDeclared];
};

const once = [recovery(1, 50, { recovery: 0, size: 100, root: base64(100) })];
const second = recovery(2, 40, { recovery: 1, size: 70, root: base64(70) });
const twice = [...once, second];
const another = recovery(1, 50, { recovery: 0, size: 60, root: base64(7) });

/** The recovery that lost it, what that one kept, and whether it declares the loss. */
it.each<[what: string, readonly Recovery[], recovered: number, size: number, ...lost: (number | boolean)[]]>([
  ['is kept up to the end of the recovered records', once, 0, 50],
  ['is declared lost after it', once, 0, 51, 1, 50, true],
  ['is declared lost up to what the recovery knew of', once, 0, 100, 1, 50, true],
  ['is lost without a declaration beyond that', once, 0, 101, 1, 50, false],
  ['is lost without a declaration if the recovery knew of nothing', [recovery(1, 50)], 0, 51, 1, 50, false],
  ['is lost without a declaration if it knew something else', [another], 0, 60, 1, 50, false],
  ['is unaffected if signed after the recovery', once, 1, 80],
  ['is kept by two recoveries', twice, 0, 40],
  ['is lost in the later one, if the earlier one kept it', twice, 0, 45, 2, 40, true],
  ['is lost in the earlier one', twice, 0, 60, 1, 50, true],
  ['between two recoveries is lost in the later one', twice, 1, 41, 2, 40, true],
  ['between two recoveries is lost without a declaration', twice, 1, 71, 2, 40, false],
  ['is declared lost by the next recovery if its own was lost', [second], 0, 100, 2, 40, true],
])('what was signed before a recovery %s', (_, recoveries, recovered, size, ...lost) => {
  expect(said(recoveries, recovered, size) ?? []).toEqual(lost);
  expect(said(recoveries, recovered, size, 'study-b')).toBeUndefined();
});

it('the search for a loss handles more receipts than a call can have arguments', () => {
  const runner = {
    state: () => ({ publicKeys: [], recoveries: [] }),
    streams: () => ['log'],
    halted: () => undefined,
  } as unknown as Runner;
  const ledger = { tree: () => new MerkleTree() } as unknown as Ledger;
  const signed = Array.from({ length: 300_000 }, (_, i) => ({
    stream: 'log',
    recovery: i % 3,
    size: 1 + i,
    root: Buffer.alloc(32),
  }));
  const loss = findLoss(runner, ledger, signed);
  expect(loss.recovery).toBe(3);
  expect(loss.lost).toMatchObject([{ stream: 'log', kept: 0, signed: { recovery: 2, size: 300_000 } }]);
});
