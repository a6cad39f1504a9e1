import { expect, it } from 'vitest';
import type { Runner } from '../../../projections/runner.ts';
import type { Ledger } from '../../../src/core/ledger/ledger.ts';
import { MerkleTree } from '../../../src/core/ledger/merkle-tree.ts';
import { findLoss } from '../../../src/core/log/recovery.ts';

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
