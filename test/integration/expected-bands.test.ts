/** The expected bands of a service, with the real process that computes them. */
import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { LogEvent } from '../../events/record.ts';
import { toJson } from '../../src/base/json.ts';
import { Band } from '../../src/statistics/expected/band.ts';
import {
  BandKeeper,
  ExpectedBands,
  KeeperEndedError,
  type ShownBand,
} from '../../src/statistics/expected/expected-bands.ts';
import { FollowedStudy } from '../../src/statistics/expected/followed.ts';
import { baseSeed, defaultSeed } from '../../src/statistics/replicate/replicate.ts';
import { event } from '../support/facts.ts';
import { TrialRun } from '../support/trial-run.ts';

const LONG_MS = 60_000;
const MINUTE_MS = 60_000;

function trialOf(participants: number): TrialRun {
  const trial = new TrialRun();
  for (let i = 0; i < participants; i++) trial.enrol(`p${i}`);
  return trial;
}

const eventsOf = ({ facts }: TrialRun) => facts.map((fact, revision) => event(fact, revision));
const study = (stream: string) => ({ stream, studyId: `id of ${stream}` });

/** A store of studies by stream, which notes what was read. */
class Log {
  readonly trials = new Map<string, TrialRun>();
  readonly read: string[] = [];

  eachEvent = async (stream: string, from: number, take: (event: LogEvent) => void): Promise<void> => {
    this.read.push(`${stream} from ${from}`);
    const trial = this.trials.get(stream);
    for (const one of trial ? eventsOf(trial).slice(from) : []) take(one);
  };
}

/** Of this process. */
function processOfBands(): number {
  const listed = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  });
  const line = listed.split('\n').find((one) => one.includes('band-process'));
  return Number.parseInt(line ?? '', 10);
}

let bands: ExpectedBands | undefined;
afterEach(() => {
  bands?.stop();
  vi.useRealTimers();
});

function made() {
  const log = new Log();
  const ends: string[] = [];
  const those = new ExpectedBands(log, (how) => ends.push(how));
  bands = those;
  const of = async (stream: string) => {
    const revision = (log.trials.get(stream)?.facts.length ?? 0) - 1;
    return (await those.of(study(stream), revision, LONG_MS)) as ShownBand;
  };
  return { log, ends, bands: those, of };
}

function fromScratch(trial: TrialRun, stream: string): string {
  const followed = new FollowedStudy();
  for (const one of eventsOf(trial)) followed.take(one);
  const band = new Band(1000, defaultSeed(`id of ${stream}`));
  for (const step of followed.takeSteps().steps) band.take(step);
  return toJson(band.result());
}

describe('the expected bands of a service', () => {
  it('follow a study: only what is new is read, once the store answers, and the band is the same as from scratch', async () => {
    const { log, of } = made();
    const trial = trialOf(5);
    log.trials.set('a', trial);
    const { eachEvent } = log;
    log.eachEvent = () => Promise.reject(new Error('no answer'));
    await expect(of('a')).rejects.toThrow('no answer');
    log.eachEvent = eachEvent;
    expect(await of('a')).toEqual({ revision: 5, json: fromScratch(trial, 'a') });
    expect(await of('a')).toEqual({ revision: 5, json: fromScratch(trial, 'a') });
    trial.enrol('another');
    expect(await of('a')).toEqual({ revision: 6, json: fromScratch(trial, 'a') });
    expect(log.read).toEqual(['a from 0', 'a from 6']);
  });

  it('are computed once for all who ask at the same time, one study after the other, and kept for eight of them', async () => {
    const { log, of } = made();
    const streams = Array.from({ length: 9 }, (_, i) => `s${i}`);
    for (const stream of streams) log.trials.set(stream, trialOf(1));
    const [s0, s1, ...others] = streams.slice(0, 8) as [string, string, ...string[]];
    const all = await Promise.all([s0, s0, s1, s0, s1].map(of));
    expect(new Set(all.map(({ json }) => json)).size).toBe(2);
    expect(log.read).toEqual(['s0 from 0', 's1 from 0']);
    for (const stream of [...others, s0, 's8']) await of(stream);
    log.read.length = 0;
    await of(s0);
    expect(log.read).toEqual([]);
    // It was not asked for as lately as the others.
    await of(s1);
    expect(log.read).toEqual(['s1 from 0']);
  });

  it('are dropped an hour after somebody last asked, each separately', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const { log, ends, of } = made();
    for (const stream of ['a', 'b']) log.trials.set(stream, trialOf(2));
    await of('a');
    vi.advanceTimersByTime(40 * MINUTE_MS);
    await of('b');
    vi.advanceTimersByTime(22 * MINUTE_MS);
    await of('b');
    await of('a');
    expect(log.read).toEqual(['a from 0', 'b from 0', 'a from 0']);
    // Nothing is left for the process to keep.
    vi.advanceTimersByTime(62 * MINUTE_MS);
    await of('a');
    expect(log.read.at(-1)).toBe('a from 0');
    expect(log.read).toHaveLength(4);
    expect(ends).toEqual([]);
  });

  it('say how far they are when they are not ready in time, go on, and are refused if a replicate would have the seed', async () => {
    const { log, bands, of } = made();
    log.trials.set('a', trialOf(60));
    expect(await bands.of(study('a'), 60, 0)).toEqual({ participants: 0, of: 0 });
    expect((await of('a')).revision).toBe(60);
    expect(log.read).toEqual(['a from 0']);
    log.trials.set('b', new TrialRun({}, baseSeed(defaultSeed('id of b')) + 999n));
    await expect(of('b')).rejects.toMatchObject({ code: 'halted' });
  });

  it('begin anew when they are told to forget, and end when they are stopped', async () => {
    const { log, ends, bands, of } = made();
    log.trials.set('a', trialOf(3));
    await of('a');
    bands.forget();
    await of('a');
    expect(log.read).toEqual(['a from 0', 'a from 0']);
    log.trials.set('b', trialOf(300));
    const waiting = of('b');
    await new Promise((resolve) => setTimeout(resolve, 100));
    bands.stop();
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
    await expect(of('a')).rejects.toThrow('the service is shutting down');
    expect(ends).toEqual([]);
  });

  it('are begun anew when the process hangs', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const ends: string[] = [];
    const keeper = new BandKeeper((how) => ends.push(how));
    try {
      await keeper.carryOut({ type: 'begin', key: 'a', reps: 1, seed: 1 });
      process.kill(processOfBands(), 'SIGSTOP');
      const waiting = keeper.carryOut({ type: 'show', key: 'a' });
      vi.advanceTimersByTime(5 * MINUTE_MS);
      await expect(waiting).rejects.toBeInstanceOf(KeeperEndedError);
      expect(ends).toEqual(['SIGKILL']);
      await keeper.carryOut({ type: 'begin', key: 'a', reps: 1, seed: 1 });
      vi.advanceTimersByTime(5 * MINUTE_MS);
      expect(await keeper.carryOut({ type: 'show', key: 'a' })).toContain('"reps":1');
    } finally {
      keeper.stop();
    }
  });
});
