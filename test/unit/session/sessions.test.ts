/** Sessions against a log that may take no records. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OperationsFact } from '../../../events/operations.ts';
import type { Runner } from '../../../projections/runner.ts';
import { endedSessions } from '../../../projections/sessions.ts';
import { DomainError } from '../../../src/base/errors.ts';
import type { KeyActor } from '../../../src/service/operations/recorder.ts';
import { Sessions } from '../../../src/service/session/sessions.ts';
import { LOG_ID } from '../../support/fixed-tools.ts';

const SITE: KeyActor = { keyId: 'k0011', user: 'site', accessRevision: 0 };
const MINUTE = 60_000;

/** @param record what the log does with a fact */
function sessionsWith(record: (fact: OperationsFact) => Promise<void> = () => Promise.resolve()) {
  const recorded: OperationsFact[] = [];
  const failures: string[] = [];
  const ended = endedSessions.initial();
  const clock = { ms: Date.parse('2026-11-23T12:00:00.000Z') };
  const secret = { current: randomBytes(32) };
  const sessions = new Sessions({
    logId: LOG_ID,
    secret: () => secret,
    runner: { state: () => ended } as unknown as Runner,
    operations: {
      record: async (fact) => {
        await record(fact);
        recorded.push(fact);
      },
    },
    now: () => clock.ms,
    onFailure: ({ type }, { user }, { message }) => failures.push(`${type} of ${user}: ${message}`),
  });
  return { sessions, recorded, failures, ended, clock };
}

describe('a session', () => {
  it('is recorded when it begins, and its cookie opens', async () => {
    const { sessions, recorded, failures } = sessionsWith();
    const session = await sessions.begin(SITE);
    const { sessionId } = session;
    expect(recorded).toEqual([{ type: 'SessionBegan', data: { sessionId, keyId: 'k0011' }, sections: {} }]);
    expect(await sessions.open(await sessions.seal(session))).toEqual(session);
    expect(failures).toEqual([]);
  });

  it('ends with its times, and for every instance once the log says so', async () => {
    const { sessions, ended, clock } = sessionsWith();
    const session = await sessions.begin(SITE);
    const cookie = await sessions.seal(session);
    clock.ms += 30 * MINUTE - 1;
    expect(await sessions.open(cookie)).toBeDefined();
    ended.set(session.sessionId, clock.ms);
    expect([await sessions.open(cookie), sessions.isOpen(session)]).toEqual([undefined, false]);
    ended.clear();
    clock.ms += 1;
    expect(await sessions.open(cookie)).toBeUndefined();
  });

  it('has ended here at once, while the end is being recorded', async () => {
    let write: () => void = () => undefined;
    const { sessions } = sessionsWith(({ type }) =>
      type === 'SessionBegan' ? Promise.resolve() : new Promise((resolve) => (write = resolve)),
    );
    const session = await sessions.begin(SITE);
    const ending = sessions.end(session, SITE);
    expect(await sessions.open(await sessions.seal(session))).toBeUndefined();
    write();
    expect(await ending).toBe(true);
  });
});

describe('while the log takes no records', () => {
  const refusal = () => Promise.reject(new DomainError('moved', 'the log is elsewhere'));

  it('a session begins, and ends in this process; that it could not be recorded is reported', async () => {
    const { sessions, failures, clock } = sessionsWith(refusal);
    const session = await sessions.begin(SITE);
    expect(await sessions.open(await sessions.seal(session))).toEqual(session);
    expect(await sessions.end(session, SITE)).toBe(false);
    expect(failures).toEqual(
      ['SessionBegan', 'SessionEnded'].map((one) => `${one} of site: the log is elsewhere`),
    );
    for (const minutes of [0, 29]) {
      clock.ms += minutes * MINUTE;
      expect(await sessions.open(await sessions.seal({ ...session, usedAt: clock.ms }))).toBeUndefined();
    }
    // What is forgotten is over.
    clock.ms += 14 * 60 * MINUTE;
    await sessions.end(await sessions.begin(SITE), SITE);
    expect(sessions.isOpen({ ...session, usedAt: clock.ms })).toBe(false);
  });
});

describe('while the log does not answer', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('nobody waits for longer than three seconds', async () => {
    const { sessions, failures } = sessionsWith(() => new Promise(() => undefined));
    const beginning = sessions.begin(SITE);
    await vi.advanceTimersByTimeAsync(3000);
    const ending = sessions.end(await beginning, SITE);
    await vi.advanceTimersByTimeAsync(3000);
    expect(await ending).toBe(false);
    expect(failures).toHaveLength(2);
  });
});

it('a key signs in 600 times in an hour at most, so that nobody fills the disk', async () => {
  const { sessions, recorded } = sessionsWith();
  for (let i = 0; i < 600; i++) await sessions.begin(SITE);
  await expect(sessions.begin(SITE)).rejects.toThrow('has signed in 600 times within an hour');
  await sessions.begin({ ...SITE, keyId: 'k0022' });
  expect(recorded).toHaveLength(601);
});
