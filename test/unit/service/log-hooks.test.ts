/** The warnings that a list is nearly used up, or waits for a skip. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { watchLists } from '../../../src/service/log-hooks.ts';
import type { Written } from '../../support/acts.ts';
import { TrialRun } from '../../support/trial-run.ts';

const CONFIGURATION: StudyConfiguration = {
  name: 'Listed',
  mode: 'test',
  method: { name: 'list', by: ['local_site'] },
  treatments: ['A', 'B'],
  factors: [{ name: 'local_site', levels: ['11', '30'] }],
};

/** Registers a list with so many entries of a level. */
function add(trial: TrialRun, site: string, count: number): void {
  const list = trial.registered.entries.lists + 1;
  const entries = Array.from({ length: count }, (_, i) => ({ levels: [site], treatment: 'AB'[i % 2] ?? '' }));
  const command = { type: 'register-list', list, approvals: [], file: '0'.repeat(63) + list, first: 1 };
  expect(trial.ask({ ...command, entries } as Written)).toEqual({ type: 'list-registered' });
}

let participants = 0;
function enrol(trial: TrialRun, site: string, count: number): void {
  for (let i = 0; i < count; i++) expect(trial.enrol(String(participants++), [site]).type).toBe('randomized');
}

let watching: NodeJS.Timeout | undefined;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  clearInterval(watching);
  vi.useRealTimers();
});

/** @returns the warnings of a second */
function watched(trials: readonly TrialRun[]) {
  const lines: unknown[][] = [];
  const log = {
    studies: {
      list: () => trials.map(({ registered }, i) => ({ stream: `study-${i}`, design: registered.design })),
    },
    runner: { state: (_: unknown, stream: string) => trials[Number(stream.slice(-1))]?.state },
  };
  watching = watchLists(log as never, { warn: (...line: unknown[]) => lines.push(line) } as never);
  return () => {
    vi.advanceTimersByTime(1000);
    return lines.splice(0).map(([about]) => about);
  };
}

it('comes once for each stratum, without its name, and again after a further list is low', () => {
  const trial = new TrialRun(CONFIGURATION);
  const said = watched([trial]);
  add(trial, '11', 20);
  add(trial, '30', 10);
  enrol(trial, '11', 17);
  expect(said()).toEqual([]);
  enrol(trial, '11', 1);
  expect(said()).toEqual([{ study: 'Listed' }]);
  enrol(trial, '11', 2);
  expect(said()).toEqual([]);
  enrol(trial, '30', 9);
  expect(said()).toEqual([{ study: 'Listed' }]);
  add(trial, '11', 10);
  expect(said()).toEqual([]);
  enrol(trial, '11', 10);
  expect(said()).toEqual([{ study: 'Listed' }]);
});

it('is about studies that are registered while the service runs, too, and about none that is closed', () => {
  const trials: TrialRun[] = [];
  const said = watched(trials);
  const [open, closed] = [new TrialRun(CONFIGURATION), new TrialRun({ ...CONFIGURATION, name: 'Closed' })];
  for (const trial of [open, closed]) {
    add(trial, '11', 2);
    enrol(trial, '11', 2);
  }
  expect(closed.ask({ act: 'StudyClosed', user: 'operator', cause: 'end', reason: 'end' }).type).toBe(
    'recorded',
  );
  trials.push(open, closed);
  expect(said()).toEqual([{ study: 'Listed' }]);
});

it('comes once while a skip is owed', () => {
  const trial = new TrialRun(CONFIGURATION);
  const urns = new TrialRun();
  const said = watched([trial, urns]);
  const recover = { type: 'recover', recovery: 1, kept: 1, seed: 5n } as const;
  for (const one of [trial, urns]) expect(one.ask(recover).type).toBe('recovered');
  expect(said()).toEqual([{ study: 'Listed' }]);
  expect(said()).toEqual([]);
  expect(trial.ask({ type: 'skip-entries', reason: 'x', skipped: [] }).type).toBe('entries-skipped');
  expect(said()).toEqual([]);
});
