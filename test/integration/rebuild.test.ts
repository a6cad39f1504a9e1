/** What two processes showed while they wrote and followed live is what a third one folds from nothing. */
import { afterEach, describe, expect, it } from 'vitest';
import { access } from '../../projections/access.ts';
import type { Runner } from '../../projections/runner.ts';
import { decide } from '../../src/core/study/decide.ts';
import { studyState } from '../../src/core/study/state.ts';
import { balance, participants, studyConfig } from '../../src/core/study/views.ts';
import { type OpenLog, openLog } from '../../src/service/open/open-log.ts';
import { asCommand, type FlatAct } from '../support/acts.ts';
import { CONFIGURATION, NURSE, OPERATOR, randomize } from '../support/facts.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const opened: OpenLog[] = [];
afterEach(async () => {
  for (const log of opened.splice(0)) await log.close();
});

/** A process on the log in that folder. */
const PAUSE = asCommand({ act: 'StudyPaused', user: 'operator', reason: 'data review' });
const RESUME = asCommand({ act: 'StudyResumed', user: 'operator', reason: 'review done' });

async function start(data: string): Promise<OpenLog> {
  const log = await openLog({ data }, OPERATOR);
  opened.push(log);
  await log.rebuild();
  log.runner.follow();
  return log;
}

/** Everything that a process shows of the log, and what it would decide next. */
function shown({ runner, studies }: OpenLog): unknown {
  return {
    access: runner.state(access, 'access'),
    revisions: revisions(runner),
    studies: studies.list().map(({ stream, registered }) => ({
      registered,
      config: runner.state(studyConfig, stream),
      participants: runner.state(participants, stream).inOrder,
      balance: runner.state(balance, stream)?.view(),
      next: decide(runner.state(studyState, stream), randomize('next')),
    })),
  };
}

function revisions(runner: Runner): Record<string, number> {
  return Object.fromEntries(
    runner
      .streams()
      .sort()
      .map((stream) => [stream, runner.revision(stream)]),
  );
}

/** Until both have followed to where the other is. */
async function untilSame(one: OpenLog, two: OpenLog): Promise<void> {
  const same = () => JSON.stringify(revisions(one.runner)) === JSON.stringify(revisions(two.runner));
  await expect.poll(same).toBe(true);
}

describe('a log in SQLite', () => {
  it('looks the same to two processes that write and follow it live, and after a rebuild', async () => {
    const data = newFolder();
    const one = await start(data);
    const two = await start(data);
    const names = ['CHS JCOIN', 'second study'];
    for (const name of names)
      expect(await one.studies.register({ ...CONFIGURATION, name }, undefined, OPERATOR)).toBe('registered');
    expect(await two.studies.register({ ...CONFIGURATION, name: 'CHS JCOIN' }, 5n, OPERATOR)).toBe(
      'already-registered',
    );
    const streams = names.map((name) => one.studies.streamOf(name));
    await untilSame(one, two);

    const outcomes = await Promise.all(
      Array.from({ length: 120 }, (_, i) => {
        const log = i % 2 === 0 ? one : two;
        const levels = CONFIGURATION.factors.map((factor, f) => factor.levels[(i >> f) % 2] ?? '');
        // Every participant is requested twice, once from each process.
        const command = randomize(`${i >> 1}`, { levels, idempotencyKey: `key-${i % 7}-${i}` });
        return log.studies
          .submit(streams[(i >> 1) % 2] ?? '', command, NURSE)
          .then(({ outcome }) => outcome.type);
      }),
    );
    expect(outcomes.filter((type) => type === 'randomized')).toHaveLength(60);
    expect(outcomes.filter((type) => type === 'duplicate')).toHaveLength(60);
    const key = await two.keys.issue({ user: 'nurse', scopes: ['read'] }, OPERATOR);
    await one.studies.submit(streams[0] ?? '', PAUSE, OPERATOR);

    await untilSame(one, two);
    const three = await start(data);
    expect(shown(one)).toEqual(shown(three));
    expect(shown(two)).toEqual(shown(three));
    expect(three.runner.state(participants, streams[0] ?? '').inOrder).toHaveLength(30);
    if (!('apiKey' in key)) throw new Error('no key was issued');
    expect(three.keys.accept(key.apiKey)?.key.user).toBe('nurse');
  });

  it('answers a repeated request from before the restart, and continues from the same generator state', async () => {
    const data = newFolder();
    const before = await start(data);
    await before.studies.register(CONFIGURATION, 42n, OPERATOR);
    const stream = before.studies.streamOf(CONFIGURATION.name);
    const command = randomize('001', { idempotencyKey: 'visit-7' });
    expect(await before.studies.submit(stream, command, NURSE)).toMatchObject({
      outcome: { type: 'randomized' },
      revision: 1,
    });
    const last = before.runner.state(participants, stream).inOrder.at(-1);
    await before.close();
    opened.pop();

    const after = await start(data);
    expect(await after.studies.submit(stream, command, NURSE)).toMatchObject({
      outcome: { type: 'repeated' },
      revision: 1,
    });
    await after.studies.submit(stream, randomize('002'), NURSE);
    const state = after.runner.state(studyState, stream);
    if (state.status === 'unregistered') throw new Error('the study is gone');
    expect(state.counts.of(0, 1).reduce((sum, n) => sum + n)).toBe(2);
    expect(last?.bgStateAfter).toBeDefined();
    expect(after.runner.state(participants, stream).inOrder[0]).toEqual(last);
  });

  it('takes into account what another process has just written, even if it then records nothing', async () => {
    const data = newFolder();
    const one = await start(data);
    await one.studies.register(CONFIGURATION, 42n, OPERATOR);
    const stream = one.studies.streamOf(CONFIGURATION.name);
    await one.studies.submit(stream, randomize('001'), NURSE);
    // It does not follow the log, as if it were always late.
    const late = await openLog({ data }, OPERATOR);
    opened.push(late);
    await late.rebuild();
    const about = { user: 'nurse', participantId: '001' };
    const note = 'a note';
    const annul = { ...about, act: 'AllocationVoided', cause: 'ineligible', analysis: 'keep', note } as const;
    const reinstate = { ...about, act: 'AllocationReinstated', note } as const;
    const rename = { ...about, act: 'ParticipantIdCorrected', to: '100', cause: 'entry' } as const;
    const outcomeOf = async (log: OpenLog, act: FlatAct) =>
      (await log.studies.submit(stream, asCommand(act), NURSE)).outcome.type;
    expect(await outcomeOf(one, annul)).toBe('recorded');
    expect(await outcomeOf(late, annul)).toBe('stale');
    expect(await outcomeOf(one, reinstate)).toBe('recorded');
    expect(await outcomeOf(late, reinstate)).toBe('stale');
    expect(await outcomeOf(one, rename)).toBe('recorded');
    expect(await outcomeOf(late, { ...annul, participantId: '100' })).toBe('recorded');
    expect(await outcomeOf(one, { act: 'StudyPaused', user: 'nurse', reason: 'review' })).toBe('recorded');
    expect(await outcomeOf(late, { act: 'StudyResumed', user: 'nurse', reason: 'done' })).toBe('recorded');
  });

  it('shows a revoked key, a pause and a resumption to the other process', async () => {
    const data = newFolder();
    const one = await start(data);
    const two = await start(data);
    await one.studies.register(CONFIGURATION, undefined, OPERATOR);
    const stream = one.studies.streamOf(CONFIGURATION.name);
    const key = await one.keys.issue(
      { user: 'nurse', scopes: ['read'], expiresAt: '2999-01-01T00:00:00.000Z' },
      OPERATOR,
    );
    if (!('apiKey' in key)) throw new Error('no key was issued');
    await expect.poll(() => two.keys.accept(key.apiKey)?.accessRevision).toBe(0);

    expect(await two.keys.revoke(key.keyId, 'left the site', OPERATOR)).toBe('revoked');
    await expect.poll(() => one.keys.accept(key.apiKey)).toBeUndefined();
    expect(await one.keys.revoke(key.keyId, undefined, OPERATOR)).toBe('already-revoked');

    await two.studies.submit(stream, PAUSE, OPERATOR);
    await expect
      .poll(() => one.studies.find(CONFIGURATION.name)?.registered.halt?.reason)
      .toBe('data review');
    await one.studies.submit(stream, RESUME, OPERATOR);
    await expect.poll(() => two.studies.find(CONFIGURATION.name)?.registered.halt).toBeUndefined();
  });
});
