import { describe, expect, it } from 'vitest';
import type { SignedSize } from '../../../events/log.ts';
import type { Recovery } from '../../../projections/log.ts';
import type { Runner } from '../../../projections/runner.ts';
import { recoveryCovering } from '../../../src/core/ledger/covering-recovery.ts';
import type { Ledger } from '../../../src/core/ledger/ledger.ts';
import { MerkleTree } from '../../../src/core/ledger/merkle-tree.ts';
import { findLoss } from '../../../src/core/log/recovery.ts';

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

describe('what was signed before a recovery', () => {
  const once = [recovery(1, 50, { recovery: 0, size: 100, root: base64(100) })];

  it('is kept up to the end of the recovered records, and declared lost after it', () => {
    expect(said(once, 0, 50)).toBeUndefined();
    expect(said(once, 0, 51)).toEqual([1, 50, true]);
    expect(said(once, 0, 100)).toEqual([1, 50, true]);
  });

  it('is lost without a declaration if the recovery did not know of it, or knew something else', () => {
    expect(said(once, 0, 101)).toEqual([1, 50, false]);
    expect(said([recovery(1, 50)], 0, 51)).toEqual([1, 50, false]);
    const another = recovery(1, 50, { recovery: 0, size: 60, root: base64(7) });
    expect(said([another], 0, 60)).toEqual([1, 50, false]);
  });

  it('is unaffected in a stream that the recovery does not name, or if signed after the recovery', () => {
    expect(said(once, 0, 80, 'study-b')).toBeUndefined();
    expect(said(once, 1, 80)).toBeUndefined();
  });

  it('can be lost in a later recovery, even if an earlier one kept it', () => {
    const twice = [...once, recovery(2, 40, { recovery: 1, size: 70, root: base64(70) })];
    expect(said(twice, 0, 40)).toBeUndefined();
    expect(said(twice, 0, 45)).toEqual([2, 40, true]);
    expect(said(twice, 0, 60)).toEqual([1, 50, true]);
    expect(said(twice, 1, 41)).toEqual([2, 40, true]);
    expect(said(twice, 1, 71)).toEqual([2, 40, false]);
  });

  it('is declared lost by the next recovery if its own recovery was lost', () => {
    const second = [recovery(2, 40, { recovery: 1, size: 70, root: base64(70) })];
    expect(said(second, 0, 100)).toEqual([2, 40, true]);
    expect(said(second, 1, 60)).toEqual([2, 40, true]);
  });
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
