/**
 * What it costs to choose a pack, counted. If it depended on the arm, the time of an answer would tell the arm to anybody who
 * knows that the arms have different numbers of packs.
 */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Members } from '../../../src/core/model/outcomes.ts';
import { tryWritten, type Written, writtenDecider } from '../../support/acts.ts';
import { ASKED, CONFIGURATION, LEVELS, randomize } from '../../support/facts.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { dispense as dispensed, listOf, replace as replaced } from '../../support/visits.ts';

const work = { hashes: 0, bytes: 0, comparisons: 0 };
const { hash } = crypto;

/** Only packs are hashed as bytes. Their hashes notice each comparison, which looks at both sides. */
function countedHash(algorithm: string, input: string | Uint8Array) {
  const digest = hash(algorithm, input);
  if (typeof input === 'string') return digest;
  work.hashes++;
  work.bytes += input.length;
  return {
    [Symbol.toPrimitive]: () => {
      work.comparisons += 0.5;
      return digest;
    },
  };
}

function hashBy(one: unknown): void {
  Object.assign(crypto, { hash: one });
  syncBuiltinESMExports();
}
beforeAll(() => hashBy(countedHash));
afterAll(() => hashBy(hash));

const [MART, RMCQ, RMCA] = CONFIGURATION.treatments as [string, string, string];
const [COOK, DUPAGE] = ['11-Cook County – Chicago', '30-Dupage County'];
const STOCK = { [MART]: 400, [RMCQ]: 200, [RMCA]: 90 };

/** With as many packs of each arm as given, and packs of another site, which nobody here can get. */
function stocked(numbers: Readonly<Record<string, number>>): TrialRun {
  const trial = new TrialRun({ visits: ['V2'] });
  trial.ask(listOf(1, numbers));
  trial.ask({ ...listOf(2, numbers), where: { factor: '9', level: DUPAGE } });
  return trial;
}

/** What somebody at a site asks for. */
const replace = (trial: TrialRun, id: string, more: Members = {}) =>
  replaced(id, trial.list.find(id)?.pack?.code ?? '', more);
const dispense = (_: TrialRun, id: string, more: Members = {}) => dispensed(id, 'V2', more);

/** @returns how much work it was */
function workOf(action: () => unknown): typeof work {
  Object.assign(work, { hashes: 0, bytes: 0, comparisons: 0 });
  action();
  return { ...work };
}

const IDS = Array.from({ length: 24 }, (_, n) => `p-${n + 10}`);
const free = 400 + 200 + 90 - IDS.length;
let trial: TrialRun;

beforeEach(() => {
  trial = stocked(STOCK);
  for (const id of IDS) trial.enrol(id, ['Male', COOK]);
});

/** The same for every arm, and all of them occur. */
function everyArm(of: (id: string) => typeof work): typeof work {
  const byArm = IDS.map((id) => [trial.list.find(id)?.treatment, of(id)] as const);
  expect(new Set(byArm.map(([arm]) => arm)).size).toBe(3);
  for (const [, one] of byArm) expect(one).toEqual(byArm[0]?.[1]);
  return byArm[0]?.[1] ?? work;
}

describe('the work of', () => {
  it.each([
    ['a replacement', replace],
    ['a pack at a visit', dispense],
  ])('%s is the same whichever arm the participant is on, even one that gets none', (_, asked) => {
    for (const stopped of [[], [MART]])
      for (const isSupply of stopped.length > 0 ? [false] : [false, true]) {
        const { design, ...registered } = trial.registered;
        const state = { ...registered, design: { ...design, stoppedTreatments: stopped } };
        const done = everyArm((id) =>
          workOf(() => writtenDecider.decide(state, asked(trial, id, { isSupply }))),
        );
        expect(done).toMatchObject({ hashes: free, comparisons: free - 3 });
      }
  });

  it('a replacement in the middle of a batch is the same, too', () => {
    let state = writtenDecider.fork(trial.state);
    const done = IDS.map((id, n) => {
      let fact: ReturnType<typeof writtenDecider.decide>['fact'];
      const one = workOf(() => {
        fact = writtenDecider.decide(state, replace(trial, id)).fact;
      });
      const actor = { cli: true, user: 'nurse' } as const;
      const revision = trial.facts.length + n;
      state = writtenDecider.evolve(state, { ...fact, revision, actor, at: '' } as never);
      return one.hashes;
    });
    expect(done).toEqual(IDS.map((_, n) => free - n));
  });

  it('a randomization is the same whichever arm is drawn', () => {
    const ids = Array.from({ length: 24 }, (_, n) => `q-${n + 10}`);
    for (const [n, id] of ids.entries())
      expect(workOf(() => trial.enrol(id, ['Male', COOK]))).toMatchObject({
        ...{ hashes: free - n, comparisons: free - n - 3 },
      });
    expect(new Set(ids.map((id) => trial.list.find(id)?.treatment)).size).toBe(3);
  });

  it('a dry run is none: no pack is chosen', () => {
    const none = { hashes: 0, bytes: 0, comparisons: 0 };
    for (const isSupply of [false, true])
      for (const asked of [replace, dispense])
        expect(
          everyArm((id) => workOf(() => tryWritten(trial.state, asked(trial, id, { isSupply })))),
        ).toEqual(none);
    expect(workOf(() => tryWritten(trial.state, randomize('new', { levels: LEVELS })))).toEqual(none);
  });

  it('a refusal is none', () => {
    const [id = ''] = IDS;
    for (let n = 0; n < 3; n++) trial.ask(replace(trial, id));
    trial.ask(dispense(trial, id));
    const refused: Written[] = [
      dispense(trial, id),
      dispense(trial, 'p-11', { visit: 'V3' }),
      replace(trial, id),
      replace(trial, id, { code: 'X' }),
      replace(trial, 'nobody'),
      randomize(id, { levels: ['Male', COOK] }),
      randomize('new', { levels: ['Male', 'Nowhere'] }),
    ];
    for (const command of refused) {
      const done = workOf(() => expect(writtenDecider.decide(trial.state, command).fact).toBeUndefined());
      expect(done.hashes).toBe(0);
    }
    const short = stocked({ ...STOCK, [RMCA]: 0 });
    const { hashes } = workOf(() => expect(short.enrol('new')).toEqual({ type: 'no-code' }));
    expect(hashes).toBe(0);
  });

  it('a replay is less, and chooses the same pack', () => {
    for (const id of IDS) {
      const command = replace(trial, id);
      const arm = trial.list.find(id)?.treatment ?? '';
      const own = trial.registered.free
        .for(['Male', COOK], trial.registered.design)
        .filter(({ treatment }) => treatment === arm).length;
      let replayed: ReturnType<typeof writtenDecider.decide> | undefined;
      const done = workOf(() => {
        replayed = writtenDecider.decide(trial.state, command, { ...ASKED, mode: 'replay' });
      });
      expect(done).toMatchObject({ hashes: own, comparisons: own - 1 });
      expect(replayed).toEqual(writtenDecider.decide(trial.state, command));
    }
  });
});
