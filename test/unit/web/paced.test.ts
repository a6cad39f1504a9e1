import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { paced } from '../../../src/web/study/paced.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const PAUSE_MS = 1000;
/** The work lasts as long as a test says. */
function slowWork() {
  let began = 0;
  const ends: (() => void)[] = [];
  const work = () => {
    began++;
    return new Promise<void>((resolve) => void ends.push(resolve));
  };
  const end = async () => {
    ends.shift()?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { work, end, began: () => began };
}

test('begins at once, never twice at a time, and goes on once, after a pause, however often it was asked meanwhile', async () => {
  const { work, end, began } = slowWork();
  const { ask } = paced(work, PAUSE_MS);
  for (let i = 0; i < 5; i++) ask();
  await vi.advanceTimersByTimeAsync(10 * PAUSE_MS);
  expect(began()).toBe(1);
  await end();
  await vi.advanceTimersByTimeAsync(PAUSE_MS - 1);
  expect(began()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(began()).toBe(2);
  await end();
  await vi.advanceTimersByTimeAsync(10 * PAUSE_MS);
  expect(began()).toBe(2);
  ask();
  expect(began()).toBe(3);
});

test('does nothing after it was stopped', async () => {
  const { work, end, began } = slowWork();
  const { ask, stop } = paced(work, PAUSE_MS);
  ask();
  ask();
  stop();
  await end();
  ask();
  await vi.advanceTimersByTimeAsync(10 * PAUSE_MS);
  expect(began()).toBe(1);
});
