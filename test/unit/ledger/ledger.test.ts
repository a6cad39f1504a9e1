import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '../../../src/core/ledger/checkpoint.ts';
import { CompactRange } from '../../../src/core/ledger/compact-range.ts';
import { Ledger } from '../../../src/core/ledger/ledger.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { parseVerifierKey } from '../../../src/core/ledger/verifier-key.ts';

const signingKey = makeSigningKey('trial-7');
const trusted = [parseVerifierKey(signingKey.publicKey, 'the key')];
const leaf = (i: number) => hash('sha256', `leaf ${i}`, 'buffer');

function ledgerOf(leaves: Readonly<Record<string, number>>, recovery = () => 0): Ledger {
  const ledger = new Ledger({ logName: 'trial-7', signingKey }, recovery, () => undefined);
  for (const [stream, count] of Object.entries(leaves))
    for (let i = 0; i < count; i++) ledger.append(stream, leaf(i));
  return ledger;
}

function rootOf(count: number): Buffer {
  const range = new CompactRange();
  for (let i = 0; i < count; i++) range.append(leaf(i));
  return range.root();
}

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
    ledger.append('study-a', leaf(5));
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
    for (let i = 10; i < 40; i++) {
      tree.grow(1);
      tree.append(leaf(i));
    }
    for (let size = 1; size <= 40; size++) expect(tree.root(size)).toEqual(rootOf(size));
  });
});
