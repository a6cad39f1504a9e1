/** What one key, or one address, may have in flight at a time. */

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { InProgress } from '../../../src/service/http/request/in-progress.ts';
import { holderOf } from '../../../src/service/http/server.ts';

/** A response that can only be closed. */
class Answer extends EventEmitter {
  destroyed = false;

  close(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** Starts lists of keys, and notes which of them begin and which are refused, in order. */
function scene() {
  const { lists } = new InProgress();
  const begun: string[] = [];
  const refused: string[] = [];
  const ask = (keyId: string, name: string) => {
    const answer = new Answer();
    lists.begin(keyId, answer as unknown as ServerResponse).then(
      () => begun.push(name),
      (error) => {
        refused.push(`${name}: ${error.status ?? error.code}`);
        // As the server does when the refusal has been sent.
        answer.close();
      },
    );
    return answer;
  };
  const asked = (number: number, prefix = '') =>
    Array.from({ length: number }, (_, i) => ask('k1', `${prefix}${i}`));
  const settled = () => vi.advanceTimersByTimeAsync(0);
  return { lists, begun, refused, ask, asked, settled };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the lists of a key', () => {
  it('are sent one at a time; eight wait in order, and the tenth is refused', async () => {
    const { asked, begun, refused, settled } = scene();
    const answers = asked(10);
    await settled();
    expect([begun, refused]).toEqual([['0'], ['9: 429']]);
    for (const answer of answers) {
      answer.close();
      await settled();
    }
    expect(begun).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8']);
  });

  it('give up their place when the client disconnects, waiting, or not, or before they came', async () => {
    const { lists, ask, asked, begun, refused, settled } = scene();
    const gone = new Answer();
    gone.close();
    const asWaiting = lists.begin('k1', gone as unknown as ServerResponse);
    await expect(asWaiting).rejects.toMatchObject({ code: 'unavailable' });
    const answers = asked(9);
    for (const answer of answers.slice(1)) answer.close();
    const more = asked(8, 'more ');
    await settled();
    expect(refused).toEqual([...'12345678'].map((name) => `${name}: unavailable`));
    answers[0]?.close();
    await settled();
    expect(begun).toEqual(['0', 'more 0']);
    for (const answer of more) answer.close();
    ask('k1', 'last');
    await settled();
    expect(begun).toContain('last');
  });

  it('do not wait forever, and then leave their place to others', async () => {
    const { ask, begun, refused, settled } = scene();
    const first = ask('k1', 'first');
    ask('k1', 'second');
    await vi.advanceTimersByTimeAsync(29_000);
    ask('k1', 'third');
    await vi.advanceTimersByTimeAsync(1_000);
    expect([begun, refused]).toEqual([['first'], ['second: 429']]);
    first.close();
    await settled();
    expect(begun).toEqual(['first', 'third']);
  });

  it('do not wait for those of other keys', async () => {
    const { ask, begun, settled } = scene();
    for (let i = 0; i < 100; i++) ask(`k${i}`, `${i}`);
    await settled();
    expect(begun).toHaveLength(100);
  });
});

it('lists of the past are limited to eight for all keys together, because they are in memory until sent', () => {
  const { lists } = new InProgress();
  const begin = () => {
    const answer = new Answer();
    lists.beginPast(answer as unknown as ServerResponse);
    return answer;
  };
  const overloaded = expect.objectContaining({ code: 'overloaded' });
  const answers = Array.from({ length: 8 }, begin);
  expect(begin).toThrow(overloaded);
  for (const answer of answers.slice(0, 2)) answer.close();
  for (let n = 0; n < 2; n++) begin();
  expect(begin).toThrow(overloaded);
});

describe('slices of lists', () => {
  it('are rendered one at a time, and other work gets a turn in between', async () => {
    const { lists } = scene();
    const order: string[] = [];
    let done = 0;
    for (let n = 0; n < 6; n++) void lists.slice(() => order.push(`slice ${n}`)).then(() => done++);
    setImmediate(function turn() {
      order.push('turn');
      if (done < 6) setImmediate(turn);
    });
    await vi.waitFor(() => expect(done).toBe(6));
    const between = order.join(' ').split('turn');
    for (const slices of between) expect(slices.match(/slice/g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(order.filter((one) => one !== 'turn')).toEqual([0, 1, 2, 3, 4, 5].map((n) => `slice ${n}`));
  });

  it('do not block others when they fail', async () => {
    const { lists } = scene();
    const fails = () => {
      throw new Error('it cannot be rendered');
    };
    for (let n = 0; n < 3; n++) {
      const failing = expect(lists.slice(fails)).rejects.toThrow('it cannot be rendered');
      await vi.advanceTimersByTimeAsync(1);
      await failing;
    }
    expect(await lists.slice(() => 'rendered')).toBe('rendered');
  });
});

it('allocations of a key are limited to 512 at a time, without affecting other keys', () => {
  const { posts } = new InProgress();
  const refused = expect.objectContaining({ status: 429, headers: { 'Retry-After': '1' } });
  for (let n = 0; n < 512; n++) posts.enter('k1');
  expect(() => posts.enter('k1')).toThrow(refused);
  posts.enter('k2');
  for (const places of [1, 512]) {
    for (let n = 0; n < places; n++) posts.leave('k1');
    for (let n = 0; n < places; n++) posts.enter('k1');
    expect(() => posts.enter('k1')).toThrow(refused);
  }
});

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('connections from %s count towards %s: an IPv6 client has a whole /64', (address, holder) => {
  expect(holderOf(address)).toBe(holder);
});
