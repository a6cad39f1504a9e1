import { describe, expect, it } from 'vitest';
import { access } from '../../../projections/access.ts';
import { Runner } from '../../../projections/runner.ts';
import { Keys } from '../../../src/core/access/keys.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { OPERATOR } from '../../support/facts.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { openGate } from '../../support/open-gate.ts';

function keysAt(time = '2026-03-01T09:00:00.000Z', store = new MemoryStore()) {
  const runner = new Runner(store, LOG_ID, [access]);
  const clock = { time };
  const tools = { ...fixedTools(), now: () => new Date(clock.time) };
  return { keys: new Keys({ store, logId: LOG_ID, runner, gate: openGate(runner), tools }), runner, clock };
}

async function issue(keys: Keys, expiresAt?: string) {
  const issued = await keys.issue({ user: 'nurse', scopes: ['read'], expiresAt }, OPERATOR);
  if ('refused' in issued) throw new Error(issued.refused);
  return issued;
}

describe('a key', () => {
  it('is accepted as it is from the moment it is issued, and names the revision that issued it', async () => {
    const { keys } = keysAt();
    await issue(keys);
    const { keyId, apiKey } = await issue(keys);
    expect(keys.accept(apiKey)).toMatchObject({
      key: { keyId, user: 'nurse', scopes: ['read'] },
      accessRevision: 1,
    });
    for (const other of ['', `${apiKey} `, apiKey.toUpperCase()]) expect(keys.accept(other)).toBeUndefined();
  });

  it('is not accepted after it is revoked', async () => {
    const { keys } = keysAt();
    const { keyId, apiKey } = await issue(keys);
    expect(await keys.revoke(keyId, 'left the site', OPERATOR)).toBe('revoked');
    expect(keys.accept(apiKey)).toBeUndefined();
    expect(keys.list()).toMatchObject([{ keyId, revoked: { reason: 'left the site' } }]);
    expect(await keys.revoke('k0', undefined, OPERATOR)).toBe('unknown-key');
  });

  it('is accepted up to the last millisecond before it expires, and not afterwards', async () => {
    const { keys, clock } = keysAt();
    const { apiKey } = await issue(keys, '2027-06-30T00:00:00.000Z');
    for (const [time, accepted] of [
      ['2027-06-29T23:59:59.999Z', true],
      ['2027-06-30T00:00:00.000Z', false],
      ['2028-01-01T00:00:00.000Z', false],
    ] as const) {
      clock.time = time;
      expect(keys.accept(apiKey) !== undefined).toBe(accepted);
    }
  });

  it('is not written if it is not allowed, or could not be read back', async () => {
    const { keys, runner } = keysAt();
    for (const scopes of [
      ['audit', 'randomize'],
      ['manage', 'randomize'],
    ] as const)
      expect(await keys.issue({ user: 'nurse', scopes }, OPERATOR)).toEqual({
        refused: expect.stringContaining('--allow-prediction'),
      });
    const malformed = expect.objectContaining({ fault: 'malformed' });
    for (const one of [
      { studies: [] },
      { where: [] },
      { scopes: [] },
      { user: '' },
      { expiresAt: '2027-06-30' },
    ])
      await expect(keys.issue({ user: 'nurse', scopes: ['read'], ...one }, OPERATOR)).rejects.toEqual(
        malformed,
      );
    expect(runner.revision('access')).toBe(-1);
    await issue(keys);
    expect(runner.halted('access')).toBeUndefined();
  });
});
