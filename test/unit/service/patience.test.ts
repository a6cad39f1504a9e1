/** Waiting for a store that is out of reach, in the time of a service and of a command. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DomainError } from '../../../src/base/errors.ts';
import { PATIENCE } from '../../../src/cli/options.ts';
import { patienceOf } from '../../../src/service/log-hooks.ts';
import { patiently } from '../../../src/service/open/open-store.ts';
import { StoreAway, StoreError } from '../../../src/store/event-store.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const away = () => new StoreAway('unavailable', 'not-written', 'no leader was found');

it('a service waits as long as it takes, and says for what at once and every ten seconds', async () => {
  const said: unknown[][] = [];
  const say = (...line: unknown[]) => said.push(line);
  const waits: boolean[] = [];
  const patience = patienceOf({ warn: say, info: say } as never, (isWaiting) => waits.push(isWaiting));
  let isBack = false;
  // Of a study that is to be registered, for instance.
  const failing = async () => {
    if (!isBack) throw new DomainError('unavailable', 'the log does not answer', away());
    return 'done';
  };
  const waiting = patiently(patience, failing);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(said).toHaveLength(61);
  expect(said[1]).toEqual([{ why: 'the log does not answer' }, 'the store is out of reach: waiting for it']);
  isBack = true;
  await vi.advanceTimersByTimeAsync(1000);
  expect(await waiting).toBe('done');
  expect([waits.at(-2), waits.at(-1), said.at(-1)]).toEqual([true, false, ['the store answers']]);
});

it('a command gives up after a minute, with what was wrong last', async () => {
  const noted = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const waiting = expect(patiently(PATIENCE, () => Promise.reject(away()))).rejects.toThrow('no leader');
  await vi.advanceTimersByTimeAsync(59_000);
  expect(noted).toHaveBeenCalledTimes(6);
  expect(noted).toHaveBeenLastCalledWith('waiting for the store, for at most 60 s: no leader was found\n');
  await vi.advanceTimersByTimeAsync(1500);
  await waiting;
});

it('nobody waits where waiting does not help', async () => {
  const denied = new StoreError('unavailable', 'not-written', 'Access Denied');
  for (const error of [denied, new DomainError('identity', 'another log'), new TypeError('a mistake')])
    await expect(patiently(PATIENCE, () => Promise.reject(error))).rejects.toBe(error);
});
