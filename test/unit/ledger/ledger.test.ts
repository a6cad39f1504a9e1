/** The trees of a log with their checkpoints, and which of these a recovery covers. */
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { SignedSize } from '../../../events/log.ts';
import type { Recovery } from '../../../projections/log.ts';
import type { Runner } from '../../../projections/runner.ts';
import { openCheckpoint } from '../../../src/core/ledger/checkpoint.ts';
import { CompactRange } from '../../../src/core/ledger/compact-range.ts';
import { recoveryCovering } from '../../../src/core/ledger/covering-recovery.ts';
import { Ledger } from '../../../src/core/ledger/ledger.ts';
import { MerkleTree } from '../../../src/core/ledger/merkle-tree.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { parseVerifierKey } from '../../../src/core/ledger/verifier-key.ts';
import { findLoss } from '../../../src/core/log/recovery.ts';

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
