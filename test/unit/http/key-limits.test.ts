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

describe('turns', () => {
  /**
   * What `callers` want to do, in the order in which it is done. A capital is a slice of something long; `|` stands for a turn of
   * the event loop.
   */
  async function done(callers: readonly string[], ms: number, turns = new InProgress().turns) {
    const order: string[] = [];
    const work = (caller: string) => {
      order.push(caller);
      vi.advanceTimersByTime(ms);
    };
    let isOver = false;
    setImmediate(function turn() {
      order.push('|');
      if (!isOver) setImmediate(turn);
    });
    await Promise.all(
      callers.map(async (caller) => {
        const turn = turns.of(caller.toLowerCase());
        if (caller !== caller.toLowerCase()) return turn.slice(() => work(caller));
        const wait = turn.next();
        if (wait) await wait;
        work(caller);
      }),
    );
    isOver = true;
    return order.join('').replace(/^\|+|\|+$/g, '');
  }

  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));

  it('are not waited for while there is time', async () => {
    expect(await done([...'aaaaaab'], 1)).toBe('aaaaaab');
  });

  it('end with a turn of the event loop after 10 ms of work; then callers take turns', async () => {
    expect(await done([...'aaaaaaaaabc'], 4)).toBe('aaa|abc|aaa|aa');
  });

  it('have one slice of something long each, of every caller in turn, and the other requests', async () => {
    expect(await done([...'AAABBCdddddd'], 4)).toBe('Add|Add|Bdd|C|A|B');
  });

  it('are short while connections arrive, since Node accepts one in each', async () => {
    const { turns } = new InProgress();
    turns.connectionArrived();
    expect(await done([...'aaaaaa'], 4, turns)).toBe('a|aaa|aa');
  });

  it('go on after work that fails', async () => {
    const turn = new InProgress().turns.of('a');
    const fails = () => {
      throw new Error('it cannot be rendered');
    };
    const failing = Array.from({ length: 3 }, () => turn.slice(fails));
    for (const one of failing) await expect(one).rejects.toThrow('it cannot be rendered');
    expect(await turn.slice(() => 'rendered')).toBe('rendered');
  });

  it('are waited for by what is done in order, too', async () => {
    const { turns } = new InProgress();
    const turn = turns.of('a');
    const order: string[] = [];
    const work = async () => {
      order.push('a');
      vi.advanceTimersByTime(4);
    };
    setImmediate(() => setImmediate(() => order.push('|')));
    await Promise.all(Array.from({ length: 12 }, () => turn.inOrder(work)));
    expect(order.join('')).toContain('|');
  });

  it('keep what one caller may do only in order apart from what others do', async () => {
    const { turns } = new InProgress();
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const begin = (caller: string, name: string) =>
      turns.of(caller).inOrder(() => {
        order.push(name);
        return new Promise<void>((resolve, reject) => {
          ends.push(name === 'a1' ? () => reject(new Error('a1 failed')) : resolve);
        });
      });
    const [a1, a2] = [begin('a', 'a1'), begin('a', 'a2')];
    void begin('b', 'b1');
    await new Promise(setImmediate);
    expect(order).toEqual(['a1', 'b1']);
    ends[0]?.();
    await expect(a1).rejects.toThrow('a1 failed');
    await vi.waitFor(() => expect(order).toEqual(['a1', 'b1', 'a2']));
    ends[2]?.();
    await a2;
  });
});

it('allocations of a key are limited to 512 at a time, without affecting other keys', () => {
  const { posts } = new InProgress();
  const refused = expect.objectContaining({ status: 429, headers: { 'Retry-After': '1' } });
  for (let n = 0; n < 512; n++) posts.enter('k1');
  expect(() => posts.enter('k1')).toThrow(refused);
  // One of those in progress may be the same request, sent before.
  expect(() => posts.enter('k1')).not.toThrow('nothing was recorded');
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
