/** The checks that a browser makes, compared with those of `urn verify`. */
import { describe, expect, it } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import { MerkleTree } from '../../../src/core/log/merkle-tree.ts';
import { makeSigningKey, signCheckpoint } from '../../../src/core/log/signing.ts';
import { isBeginning, isIncluded, parseKey, readFile, signatureOf } from '../../../src/web/offline/check.ts';
import { type CheckedLog, examine, type Pair } from '../../../src/web/offline/findings.ts';

const ORIGIN = 'urn/study-1';
const signer = makeSigningKey('urn');
const tree = new MerkleTree();
const leaves = Array.from({ length: 17 }, (_, i) => leafHash(Buffer.from(`record ${i}`)));
for (const leaf of leaves) tree.append(leaf);
const treeOf = (size: number) => ({ size, root: tree.root(size) });
const noteOf = (size: number, root = tree.root(size)) => signCheckpoint(ORIGIN, size, root, signer);
const fileOf = (name: string, text: string) => ({ name, bytes: new TextEncoder().encode(text) });
const inBase64 = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('base64'));

async function ownKey() {
  const key = await parseKey(`${signer.publicKey}\n`);
  if (!key) throw new Error('not a key');
  return key;
}

it('a verifier key is taken as it is written, unless its parts do not belong together', async () => {
  expect(await parseKey(signer.publicKey)).toMatchObject({ name: 'urn', keyId: signer.keyId });
  const other = makeSigningKey('urn').publicKey;
  expect(await parseKey(`${signer.publicKey.slice(0, 13)}${other.slice(13)}`)).toBeUndefined();
  expect(await parseKey('urn_key')).toBeUndefined();
});

it('a signature is right, wrong, or of another key', async () => {
  const key = await ownKey();
  const note = noteOf(3);
  expect(await signatureOf(note, key)).toBe('right');
  expect(await signatureOf(note.replace('\n3\n', '\n4\n'), key)).toBe('wrong');
  const other = signCheckpoint(ORIGIN, 3, tree.root(3), makeSigningKey('urn'));
  expect(await signatureOf(other, key)).toBe('of-another-key');
});

describe('proofs', () => {
  it('show for each pair of trees that the first is the beginning of the second, and for no other', async () => {
    for (let second = 1; second <= leaves.length; second++)
      for (let first = 1; first <= second; first++) {
        const proof = first === second ? [] : tree.consistencyProof(first, second);
        expect(await isBeginning(treeOf(first), treeOf(second), proof)).toBe(true);
        const altered = { size: first, root: leafHash(tree.root(first)) };
        expect(await isBeginning(altered, treeOf(second), proof)).toBe(false);
        if (first === second) continue;
        const isCut = await isBeginning(treeOf(first), treeOf(second), proof.slice(1));
        expect(isCut, `${first} ${second}`).toBe(proof.length === 0);
      }
  });

  it('show that a record is in a tree', async () => {
    for (let size = 1; size <= leaves.length; size++)
      for (const [index, leaf] of leaves.slice(0, size).entries()) {
        const proof = tree.inclusionProof(index, size);
        expect(await isIncluded(leaf, index, treeOf(size), proof)).toBe(true);
        expect(await isIncluded(leafHash(leaf), index, treeOf(size), proof)).toBe(false);
      }
  });
});

describe('files', () => {
  const receipt = fileOf('receipt.txt', Buffer.from(noteOf(3)).toString('base64'));
  const checkpoint = fileOf('checkpoint.txt', noteOf(9));
  const proven = { first: 3, second: 9, proof: inBase64(tree.consistencyProof(3, 9)) };
  const proof = fileOf('proof.json', JSON.stringify({ results: proven }));

  it('say together what they cover', async () => {
    const { logs } = await examine([checkpoint, receipt, proof], await ownKey());
    const notes = [
      { where: 'receipt.txt:1', size: 3, signature: 'right' },
      { where: 'checkpoint.txt:1', size: 9, signature: 'right' },
    ];
    expect(logs).toEqual([{ origin: ORIGIN, notes, compared: 1, unproven: [], contradictions: [] }]);
  });

  it('without a proof or a key leave open what they do not show', async () => {
    const { logs } = await examine([receipt, checkpoint], undefined);
    expect(logs[0]?.notes[0]?.signature).toBeUndefined();
    expect(logs.map(pairsOf)).toEqual([{ unproven: ['3 9'], contradictions: [] }]);
  });

  const pairsOf = ({ unproven, contradictions }: CheckedLog) => {
    const texts = (pairs: readonly Pair[]) => pairs.map((pair) => pair.map(({ size }) => size).join(' '));
    return { unproven: texts(unproven), contradictions: texts(contradictions) };
  };
  const proofOf = (first: number, second: number, of = tree) => {
    const hashes = inBase64(of.consistencyProof(first, second));
    return fileOf(`${first}-${second}.json`, JSON.stringify({ first, second, proof: hashes }));
  };

  it('of one log are compared with the next larger one each, also by way of a larger one', async () => {
    const sizes = [5, 2, 7, 3, 11, 3];
    const receipts = fileOf(
      'receipts.txt',
      sizes.map((size) => `${Buffer.from(noteOf(size)).toString('base64')}\n`).join(''),
    );
    const found = async (...proofs: ReturnType<typeof proofOf>[]) => {
      const { logs } = await examine([receipts, ...proofs], undefined);
      expect(logs[0]?.notes.map(({ size }) => size)).toEqual([2, 3, 5, 7, 11]);
      expect(logs[0]?.compared).toBe(4);
      return logs.map(pairsOf)[0]?.unproven;
    };
    expect(await found()).toEqual(['2 3', '3 5', '5 7', '7 11']);
    expect(await found(proofOf(3, 5), proofOf(7, 11))).toEqual(['2 3', '5 7']);
    // Two beginnings of the same tree, by one proof or by several.
    expect(await found(proofOf(2, 11), proofOf(3, 5), proofOf(5, 7), proofOf(7, 11))).toEqual([]);
    expect(await found(proofOf(3, 11), proofOf(5, 11))).toEqual(['2 3', '5 7', '7 11']);
  });

  it('of several logs, or of a log that has forked, are kept apart', async () => {
    const forked = new MerkleTree();
    for (const leaf of leaves.toSpliced(4, 1, leafHash(Buffer.from('another')))) forked.append(leaf);
    const files = [
      receipt,
      checkpoint,
      fileOf('fork.txt', noteOf(9, forked.root(9))),
      fileOf('later.txt', noteOf(12)),
    ];
    const other = fileOf('other.txt', signCheckpoint('urn/study-2', 9, forked.root(9), signer));
    const found = async (...more: typeof files) =>
      (await examine([...files, other, ...more], undefined)).logs.map(pairsOf);
    const alone = { unproven: [], contradictions: [] };
    expect(await found(proofOf(3, 9), proofOf(9, 12))).toEqual([
      { unproven: [], contradictions: ['9 9'] },
      alone,
    ]);
    // Of the other history.
    expect(await found(proofOf(9, 12, forked))).toEqual([
      { unproven: ['3 9', '9 12'], contradictions: ['9 9'] },
      alone,
    ]);
  });

  it('can prove a single record', async () => {
    const proof = inBase64(tree.inclusionProof(4, 9));
    const inclusion = (leaf: Buffer) =>
      fileOf(
        'inclusion.json',
        JSON.stringify({ revision: 4, size: 9, leaf: leaf.toString('base64'), proof }),
      );
    const [leaf = Buffer.alloc(32)] = leaves.slice(4);
    const found = async (file: ReturnType<typeof fileOf>, ...others: (typeof file)[]) =>
      (await examine([file, ...others], undefined)).records.map(({ is }) => is);
    expect(await found(inclusion(leaf), checkpoint)).toEqual(['included']);
    expect(await found(inclusion(leafHash(leaf)), checkpoint)).toEqual(['not-included']);
    expect(await found(inclusion(leaf), receipt)).toEqual(['no-checkpoint']);
  });

  it('that are neither are said to be unreadable', () => {
    expect(readFile(Buffer.from('PK'), 'bundle.zip').type).toBe('unreadable');
    expect(readFile(Buffer.from('{"proof":["x"]}'), 'x.json').type).toBe('unreadable');
  });
});
