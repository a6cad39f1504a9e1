/** The expected band of a study's imbalance, over HTTP and at the command line, from a process of its own. */
import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { ExpectedBalance } from '../../../src/statistics/expected/band.ts';
import { commandsOn } from '../../support/cli-log.ts';
import { type Answer, ask, within } from '../../support/client.ts';
import { refusal } from '../../support/command.ts';
import { LONG, makeLongLog } from '../../support/long-log.ts';
import { served } from '../../support/served.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../../support/trials.ts';

const data = temporaryFolders()();
const { run, ok } = commandsOn(data);
/** More than there are points. */
const PARTICIPANTS = 210;
beforeAll(() => makeLongLog(data, PARTICIPANTS));
const http = served(
  TRIALS,
  {
    edc: ['edc', '--scope', 'randomize,read'],
    manager: ['manager', '--scope', 'correct,read,manage'],
    auditor: ['auditor', '--scope', 'audit'],
    blinded: ['monitor', '--scope', 'blinded'],
    both: ['both', '--scope', 'read,blinded'],
    cook: ['cook', '--scope', 'read', '--where', `local_site=${COOK.local_site}`],
  },
  { data },
);
type Name = keyof typeof http.keys;

const expected = (name: Name, study = 'Sleep', url = http.url) =>
  ask(url, '/expected_balance', { key: http.keys[name], parameters: { study } });

async function ready(name: Name, study = 'Sleep', url = http.url): Promise<Answer> {
  let answer = await expected(name, study, url);
  await within(60_000, async () => {
    if (answer.status === 503) answer = await expected(name, study, url);
    return answer.status !== 503;
  });
  return answer;
}

/** The process in which the last service works out bands. It has begun with the first band. */
async function bandProcessOf({ url }: Pick<ServiceHere, 'url'>): Promise<number> {
  await ready('edc', 'Sleep', url);
  const ours = ['-o', 'pid=,args=', '--sort=start_time', '--ppid', String(process.pid)];
  const lines = execFileSync('ps', ours, { encoding: 'utf8' }).trim().split('\n');
  return Number.parseInt(lines.findLast((line) => line.includes('band-process')) ?? '', 10);
}

/** A process that was killed takes a while to end: this one has the lowest priority. */
const ends = (pid: number) =>
  within(30_000, async () => {
    try {
      return !process.kill(pid, 0);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ESRCH';
    }
  });

describe('the expected balance of a study', () => {
  it('has no points at first, and all levels in their order', async () => {
    const { status, results, text } = await ready('edc', 'Ordered');
    expect(status).toBe(200);
    expect(results).toMatchObject({ reps: 1000, points: [], course: { actual: 0, percentile: 0.5 } });
    expect(text).toMatch(
      /"10":\{"2":\{.*"1":\{.*"10":\{"expected".*"9":\{"z":\{.*"__proto__":\{"constructor":\{/,
    );
  });

  it('follows participants and voids, and has exactly the members that are documented', async () => {
    const { randomize } = http.as('edc');
    for (const [i, one] of [COOK, COOK, DUPAGE, KANE, COOK].entries()) {
      expect((await randomize('Sleep', `00${i}`, one)).status).toBe(200);
      // The band is worked out incrementally.
      if (i === 2) expect((await ready('edc')).results.points).toEqual([1, 2, 3]);
    }
    const voided = { study: 'Sleep', id: '002', cause: 'never-enrolled', analysis: 'exclude', note: 'left' };
    await http.done('manager', '/voids', voided);

    const { results, headers } = await ready('edc');
    const balance = await http.as('auditor').balance('Sleep');
    expect(headers.get('urn-revision')).toBe(balance.headers.get('urn-revision'));
    expect(results.points).toEqual([1, 2, 3, 4, 5]);
    const levels = Object.entries<object>(results.levels);
    const maps = new Map(levels.map(([factor, of]) => [factor, new Map(Object.entries(of))]));
    expect(ExpectedBalance.parse({ ...results, levels: maps })).toBeTruthy();
  });

  it('is the same at the command line, from scratch', async () => {
    const { text, headers } = await ready('edc');
    const printed = await ok`studies expected Sleep --json`;
    const [, results] = /"results":\{(.*),"status"/.exec(text) ?? [];
    const revision = headers.get('urn-revision');
    expect(printed.trim()).toBe(`{"study":"Sleep","revision":${revision},${results}`);
  });

  it('is described in words at the command line', async () => {
    const text = await ok`studies expected Sleep --seed 7 --reps 200`;
    expect(text).toMatch(/^replicates +200, seed 7$/m);
    expect(text).toMatch(/^range of the arms +now +expected middle +95 % band +percentile$/m);
    expect(text).toMatch(/^sex = Female +\d +\d +\d to \d +\d+\.\d %$/m);
    expect(text).toContain('1 in 20 levels outside its band is no cause for alarm');
    const why = 'urn: --reps "0" is not a whole number from 1 to 100000\n';
    expect(await refusal(run`studies expected Sleep --reps 0`)).toBe(why);
    await refusal(run`studies expected Nap`);
  });

  it('is the same on another instance, and after its process was killed, and holds up no shutdown', async () => {
    const { text } = await ready('edc');
    const another = await serveHere(data, TRIALS);
    expect((await ready('edc', 'Sleep', another.url)).text).toBe(text);
    const first = await bandProcessOf(another);
    process.kill(first, 'SIGKILL');
    await within(5000, async () => another.output.stderr.includes('expected bands has ended'));
    expect((await ready('edc', 'Sleep', another.url)).text).toBe(text);
    const second = await bandProcessOf(another);
    expect(second).not.toBe(first);
    // If the shutdown waited for the band, it would wait forever.
    process.kill(second, 'SIGSTOP');
    expect((await expected('edc', LONG, another.url)).status).toBe(503);
    await another.stop();
    await ends(second);
  });

  it('is recorded as a disclosure, but only once it is ready', async () => {
    await ready('auditor', 'Patterned');
    const shown = storedLog(data).flatMap(({ record: { type, data: of } }) =>
      type === 'EvidenceDisclosed' && of.what === 'expected-balance' ? [of.study] : [],
    );
    expect(shown).toContain('Sleep');
    expect(shown).toContain('Patterned');
    expect(shown).not.toContain(LONG);
    expect(await ok`operations`).toContain('the balance and what is expected of it up to revision 0');
  });

  it.each([
    ['a blinded key', 'blinded', 'Sleep', 'lacks the scope read or audit'],
    ['a key limited to levels', 'cook', 'Sleep', 'is limited to some levels'],
    // Refused at once, although the band of this study takes long.
    ['a key that reads and is blinded, for a long study', 'both', LONG, 'is blinded'],
  ] as const)('is refused to %s', async (_, name, study, why) => {
    const { status, results, message } = await expected(name, study);
    expect([status, results, message]).toEqual([403, {}, expect.stringContaining(why)]);
  });

  it('is 503 for a long study until it is worked out, and participants are randomized meanwhile', async () => {
    // However fast the machine is, it is not worked out while this process is stopped.
    const pid = await bandProcessOf(http);
    process.kill(pid, 'SIGSTOP');
    const first = await expected('edc', LONG);
    expect([first.status, first.results]).toEqual([503, {}]);
    expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(first.message).toMatch(/so far for \d+ of \d+ participants/);
    const { randomize } = http.as('edc');
    expect((await randomize('Sleep', '100', KANE)).status).toBe(200);
    process.kill(pid, 'SIGCONT');
    const { results } = await ready('edc', LONG);
    expect(results.points).toHaveLength(200);
    expect(results.points.at(-1)).toBe(PARTICIPANTS);
    // Another study had to wait for it, and now gets its turn.
    expect((await ready('edc')).results.points.at(-1)).toBe(6);
  });
});
