import { describe, expect, it } from 'vitest';
import type { SignedSize } from '../../../events/log.ts';
import type { Recovery } from '../../../projections/log.ts';
import { recoveryCovering } from '../../../src/ledger/covering-recovery.ts';

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

  it('is there as far as the recovery kept it, and declared lost beyond', () => {
    expect(said(once, 0, 50)).toBeUndefined();
    expect(said(once, 0, 51)).toEqual([1, 50, true]);
    expect(said(once, 0, 100)).toEqual([1, 50, true]);
  });

  it('is lost without a declaration where the recovery knew less, or something else', () => {
    expect(said(once, 0, 101)).toEqual([1, 50, false]);
    expect(said([recovery(1, 50)], 0, 51)).toEqual([1, 50, false]);
    expect(said([recovery(1, 50, { recovery: 0, size: 60, root: base64(7) })], 0, 60)).toEqual([
      1,
      50,
      false,
    ]);
  });

  it('is of no concern to a stream that the recovery does not name, or to what was signed after it', () => {
    expect(said(once, 0, 80, 'study-b')).toBeUndefined();
    expect(said(once, 1, 80)).toBeUndefined();
  });

  it('can be lost by a later recovery, also what an earlier one kept', () => {
    const twice = [...once, recovery(2, 40, { recovery: 1, size: 70, root: base64(70) })];
    expect(said(twice, 0, 40)).toBeUndefined();
    expect(said(twice, 0, 45)).toEqual([2, 40, true]);
    expect(said(twice, 0, 60)).toEqual([1, 50, true]);
    expect(said(twice, 1, 41)).toEqual([2, 40, true]);
    expect(said(twice, 1, 71)).toEqual([2, 40, false]);
  });

  it('of a recovery that was lost itself is declared by the next one', () => {
    const second = [recovery(2, 40, { recovery: 1, size: 70, root: base64(70) })];
    expect(said(second, 0, 100)).toEqual([2, 40, true]);
    expect(said(second, 1, 60)).toEqual([2, 40, true]);
  });
});
