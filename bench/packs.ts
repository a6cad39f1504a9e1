/** Measures a study with packs: choosing one among thousands, and whom many waiting requests of such a study delay. */
import type { CommandOf } from '../src/core/acts/acts.ts';
import { studyDecider, tryOut } from '../src/core/study/decide.ts';
import type { StudyState } from '../src/core/study/fold.ts';
import { startAsking, timed } from './asking.ts';
import { allocateOne, eventOf, NOW, registeredState } from './deciding.ts';
import { type Figure, median } from './figures.ts';
import { addPacks, packsOf, populate } from './populate.ts';
import type { Processes } from './processes.ts';
import { randomLevels, STUDY } from './study.ts';

export interface PacksPlan {
  /** Packs that nobody has. */
  readonly free: number;
  /** How many requests wait at a time. */
  readonly posts: number;
  readonly rounds: number;
}

export async function measurePacks(processes: Processes, plan: PacksPlan): Promise<Figure[]> {
  return [...decidingFigures(plan), ...(await waitingFigures(processes, plan))];
}

/** Decisions of one kind in each round. */
const DECISIONS = 50;

function decidingFigures({ free, rounds }: PacksPlan): Figure[] {
  const state = stocked(free);
  const code = state.status === 'unregistered' ? '' : (state.participants.get('first')?.pack?.code ?? '');
  const replacement: CommandOf<'CodeReplaced'> = {
    ...{ type: 'act', act: 'CodeReplaced', asked: { participantId: 'first', code, cause: 'damaged' } },
    by: { user: 'bench' },
  };
  const kinds = {
    'decide and fold a randomization': (n: number) =>
      void allocateOne(studyDecider.fork(state), `new-${n}`, 3, false),
    'decide a replacement': () => void studyDecider.decide(state, replacement, NOW),
    'try out a replacement': () => void tryOut(state, replacement, NOW.at),
  };
  return Object.entries(kinds).map(([what, once]) => {
    const times: number[] = [];
    // Round 0 warms up the optimizing compiler.
    for (let round = 0; round <= rounds; round++) {
      const started = performance.now();
      for (let n = 0; n < DECISIONS; n++) once(n);
      if (round > 0) times.push((performance.now() - started) / DECISIONS);
    }
    const name = `${what}, ${free.toLocaleString('en-US')} free packs`;
    return { name, value: median(times), unit: 'ms', target: { relation: 'below', value: 2.5 } };
  });
}

/** A study with that many free packs, of which one more was given to somebody. */
function stocked(free: number): StudyState {
  const state = registeredState();
  const codes = { key: '0f1e2d3c4b5a69788796a5b4c3d2e1f0', entries: packsOf(free + 1) };
  const list = { type: 'CodesRegistered', data: { count: free + 1, list: 1 }, sections: { codes } } as const;
  return allocateOne(studyDecider.evolve(state, eventOf(list, 1)), 'first', 2, false);
}

async function waitingFigures(processes: Processes, { free, posts, rounds }: PacksPlan): Promise<Figure[]> {
  const settings = { data: processes.folder };
  const apiKey = await populate(settings, 0, ['randomize']);
  await addPacks(settings, free + posts * (rounds + 1));
  const { port } = await processes.startService();
  const [longest, answered]: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    const asking = startAsking(port);
    const times = await Promise.all(
      Array.from({ length: posts }, (_, n) => randomize(port, apiKey, `${round}-${n}`)),
    );
    const healthz = await asking.stop();
    if (round === 0) continue;
    longest.push(healthz);
    answered.push(Math.max(...times));
  }
  const while_ = `${posts} POSTs wait, at least ${free.toLocaleString('en-US')} free packs`;
  return [
    {
      name: `longest answer of /healthz while ${while_}`,
      value: Math.max(...longest),
      unit: 'ms',
      target: { relation: 'below', value: 250 },
    },
    { name: `last answer when ${while_}`, value: median(answered), unit: 'ms' },
  ];
}

function randomize(port: number, apiKey: string, id: string): Promise<number> {
  const levels = randomLevels();
  const named = Object.fromEntries(STUDY.factors.map(({ name }, i) => [name, levels[i] ?? '']));
  const query = new URLSearchParams({ study: STUDY.name, id, ...named });
  return timed(port, 'POST', `/study_participants?${query}`, { 'X-API-Key': apiKey });
}
