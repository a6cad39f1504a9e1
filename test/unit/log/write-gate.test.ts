import { describe, expect, it } from 'vitest';
import { type LogHistory, logHistory, type Recovery } from '../../../projections/log.ts';
import { DomainError } from '../../../src/base/errors.ts';
import type { Rollback } from '../../../src/core/log/last-checkpoints.ts';
import { WriteGate } from '../../../src/core/log/write-gate.ts';

const STUDY = 'study-1';
const SHORTER: Rollback = {
  signed: { stream: STUDY, recovery: 0, size: 5, root: new Uint8Array(32) },
  present: 3,
};

/** @param rollbacks found when all of the log was compared */
function scene(rollbacks: readonly Rollback[] | 'not yet' = []) {
  const log = {
    recoveries: [] as Recovery[],
    moved: undefined as LogHistory['moved'],
    halted: new Set<string>(),
    missingKey: undefined as DomainError | undefined,
  };
  const gate = new WriteGate({
    runner: {
      state: () => ({ ...logHistory.initial(), ...log }) as never,
      halted: (stream) => (log.halted.has(stream) ? new Error('unreadable') : undefined),
    },
    missingKey: () => log.missingKey,
  });
  if (rollbacks !== 'not yet') gate.compared('all', rollbacks);
  const codes = (stream = STUDY) =>
    (['write', 'sign', 'recover'] as const).map((act) => gate.refusal(stream, act)?.code);
  const declare = () => {
    const of = { stream: STUDY, kept: 3 };
    const streams = new Map([[STUDY, of]]);
    log.recoveries = [{ recovery: 1, reason: 'disk', at: '2026-03-01T09:00:00.000Z', streams }];
  };
  return { log, gate, codes, declare };
}

const ALL = (code: string | undefined) => [code, code, code];

describe('the write gate', () => {
  it('is closed until the log, or a stream of it, has been compared with what it last signed', () => {
    const { gate, codes } = scene('not yet');
    expect(codes()).toEqual(ALL('unavailable'));
    gate.compared(['access'], []);
    expect([codes('access'), codes()]).toEqual([ALL(undefined), ALL('unavailable')]);
    gate.compared('all', []);
    expect(codes()).toEqual(ALL(undefined));
  });

  it('closes the whole log if one stream lacks signed records, except for declaring the loss', () => {
    const { gate, codes } = scene([SHORTER]);
    for (const stream of [STUDY, 'access', 'operations', 'study-2'])
      expect(codes(stream)).toEqual(['rolled-back', 'rolled-back', undefined]);
    expect(gate.refusal('access', 'write')?.message).toMatch(
      /^the log is not the one that it was: it signed 5 records of study-1, which now ends after 3 \(hint: /,
    );
  });

  it('is not opened by a later comparison of other streams, but by a recovery that declares the loss', () => {
    const { gate, codes, declare } = scene([SHORTER]);
    gate.compared(['operations'], []);
    gate.compared('all', []);
    expect(codes('operations')).toEqual(['rolled-back', 'rolled-back', undefined]);
    declare();
    expect(codes()).toEqual(ALL(undefined));
  });

  it('stays closed, even for a recovery, when the store lost records under the running process', () => {
    const { gate, codes, declare } = scene();
    gate.storeLost('the log was restored from a backup');
    declare();
    expect(codes()).toEqual(ALL('rolled-back'));
    expect(gate.refusal(STUDY, 'write')?.message).toContain('the log was restored from a backup (hint: ');
  });

  it('lets a log that was moved sign its records, and write nothing but a recovery', () => {
    const { log, codes } = scene();
    log.moved = { move: 'm', to: 'elsewhere' };
    for (const stream of [STUDY, 'log']) expect(codes(stream)).toEqual(['moved', undefined, undefined]);
  });

  it('blocks writes to a stream that cannot be read, and to every stream if that is log or access', () => {
    const { log, codes } = scene();
    log.halted.add(STUDY);
    expect(codes()).toEqual(['halted', undefined, 'halted']);
    expect(codes('study-2')).toEqual(ALL(undefined));
    log.halted = new Set(['operations']);
    expect(codes('study-2')).toEqual(ALL(undefined));
    log.halted = new Set(['access']);
    expect(codes('study-2')).toEqual(['halted', undefined, 'halted']);
  });

  it('blocks writes to a stream while the store may remove its records', () => {
    const { gate, codes } = scene();
    gate.endanger(STUDY, 'the store will keep only 10 of its events (hint: remove $maxCount)');
    expect(codes()).toEqual(['endangered', undefined, 'endangered']);
    expect(codes('study-2')).toEqual(ALL(undefined));
    gate.endanger(STUDY, undefined);
    expect(codes()).toEqual(ALL(undefined));
  });

  it('blocks everything without the signing key', () => {
    const { log, codes } = scene();
    log.missingKey = new DomainError('identity', 'the key is not here');
    expect(codes()).toEqual(ALL('identity'));
  });
});
