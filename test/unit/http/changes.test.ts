/** When a stream of changes speaks, and when it ends. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ChangeStreams } from '../../../src/service/http/routes/changes.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => void vi.useRealTimers());

/** A response whose client reads, or not. */
class Response extends EventEmitter {
  written: string[] = [];
  isEnded = false;
  isDestroyed = false;
  reads = true;
  write = (text: string) => void this.written.push(text);
  end(): void {
    this.isEnded = true;
    if (this.reads) this.emit('close');
  }
  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }
  /** What came since the last call. */
  news = () => this.written.splice(0);
}

const asResponse = (response: Response) => response as unknown as ServerResponse;

function opened(streams: ChangeStreams, { known = -1, reads = true } = {}) {
  const response = Object.assign(new Response(), { reads });
  const study = { latest: 7, isAllowed: true, judged: 0 };
  streams.enter(asResponse(response), { keyId: 'key', sessionId: undefined });
  streams.open(asResponse(response), {
    known,
    latest: () => study.latest,
    isAllowed: () => {
      study.judged++;
      return study.isAllowed;
    },
  });
  return { response, study };
}

const event = (revision: number) => `id: ${revision}\ndata:\n\n`;

describe('a stream', () => {
  it('begins with the present revision, unless the client knows of it', () => {
    const streams = new ChangeStreams();
    expect(opened(streams).response.news()).toEqual(['retry: 3000\n\n', event(7)]);
    expect(opened(streams, { known: 6 }).response.news()).toEqual(['retry: 3000\n\n', event(7)]);
    expect(opened(streams, { known: 7 }).response.news()).toEqual(['retry: 3000\n\n']);
  });

  it('reports changes soon, but once a second at most', () => {
    const { response, study } = opened(new ChangeStreams(), { known: 7 });
    response.news();
    vi.advanceTimersByTime(5000);
    study.latest = 8;
    vi.advanceTimersByTime(250);
    expect(response.news()).toEqual([event(8)]);
    for (let i = 0; i < 40; i++) {
      study.latest++;
      vi.advanceTimersByTime(250);
    }
    expect([9, 10]).toContain(response.news().length);
    vi.advanceTimersByTime(1000);
    response.news();
    vi.advanceTimersByTime(3000);
    expect(response.news()).toEqual([]);
  });

  it('has a comment every 15 s, and ends after 5 minutes', () => {
    const { response } = opened(new ChangeStreams());
    response.news();
    vi.advanceTimersByTime(14_900);
    expect(response.news()).toEqual([]);
    vi.advanceTimersByTime(100);
    expect(response.news()).toEqual([':\n\n']);
    vi.advanceTimersByTime(284_900);
    expect(response.news()).toHaveLength(18);
    expect(response.isEnded).toBe(false);
    vi.advanceTimersByTime(100);
    expect(response.isEnded).toBe(true);
  });

  it.each([250, 1000])('ends when its credential is no longer accepted (%i ms)', (ms) => {
    const { response, study } = opened(new ChangeStreams());
    response.news();
    vi.advanceTimersByTime(2000);
    study.isAllowed = false;
    // Otherwise it is looked at once a second.
    if (ms === 250) study.latest = 8;
    vi.advanceTimersByTime(ms);
    expect({ ended: response.isEnded, news: response.news() }).toEqual({ ended: true, news: [] });
  });

  it('is not looked at once the client has gone', () => {
    const { response, study } = opened(new ChangeStreams());
    response.emit('close');
    expect(vi.getTimerCount()).toBe(0);
    const { judged } = study;
    vi.advanceTimersByTime(5000);
    expect(study.judged).toBe(judged);
  });
});

it('when the service stops all streams end at once, and one that is opened later, too; who reads nothing is disconnected', () => {
  const streams = new ChangeStreams();
  const open = Array.from({ length: 3 }, () => opened(streams).response);
  const { response } = opened(streams, { reads: false });
  streams.close();
  expect(open.map(({ isEnded }) => isEnded)).toEqual([true, true, true]);
  expect(opened(streams).response.isEnded).toBe(true);
  expect(response.isDestroyed).toBe(false);
  vi.advanceTimersByTime(1000);
  expect(response.isDestroyed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

describe('there are at most', () => {
  const enter = (streams: ChangeStreams, keyId: string, sessionId?: string) => {
    const response = new Response();
    streams.enter(asResponse(response), { keyId, sessionId });
    return response;
  };
  it.each<[number, string, (n: number) => [keyId: string, sessionId?: string], [string, string?]]>([
    // Before they are opened as well.
    [3, 'This session has', () => ['key', 'one'], ['key', 'other']],
    // With all its sessions and without.
    [30, 'This API key has', (n) => (n < 27 ? ['key', `session ${n % 9}`] : ['key']), ['other key']],
    [200, 'This service has', (n) => [`holder ${n}`], ['nobody else']],
  ])('%i streams: %s no more', (most, whose, holder, elsewhere) => {
    const streams = new ChangeStreams();
    const all = Array.from({ length: most }, (_, n) => enter(streams, ...holder(n)));
    const message = expect.stringMatching(`^${whose} its maximum of ${most}`);
    const refused = expect.objectContaining({ status: 429, headers: { 'Retry-After': '10' }, message });
    expect(() => enter(streams, ...holder(most))).toThrow(refused);
    if (most === 30) expect(() => enter(streams, 'key', 'another session')).toThrow(refused);
    if (most < 200) enter(streams, ...elsewhere);
    all[0]?.emit('close');
    enter(streams, ...holder(most));
    expect(() => enter(streams, ...holder(most))).toThrow(refused);
  });
});
