/**
 * Services, movers and somebody who gives the move up, all at once, each of whom may die at any step: nobody ever gets an
 * arm in each store, and nothing that was acknowledged is lost.
 */
import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Actor, decodeRecord, encodeRecord, type LogEvent } from '../../../events/record.ts';
import { access } from '../../../projections/access.ts';
import { logHistory } from '../../../projections/log.ts';
import { isMoveEvent } from '../../../projections/movement.ts';
import { Runner } from '../../../projections/runner.ts';
import { DomainError } from '../../../src/base/errors.ts';
import { Keys } from '../../../src/core/access/keys.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { studyState } from '../../../src/core/study/state.ts';
import { Studies } from '../../../src/core/study/studies.ts';
import { design, studyConfig } from '../../../src/core/study/views.ts';
import { abortMove } from '../../../src/evidence/move/abort-move.ts';
import { MoveError } from '../../../src/evidence/move/move-error.ts';
import { moveLog } from '../../../src/evidence/move/move-log.ts';
import { storeSource } from '../../../src/evidence/verify/verifications.ts';
import { verifyLog } from '../../../src/evidence/verify/verify.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { type Choices, choicesOf } from '../../support/choices.ts';
import { CONFIGURATION, LEVELS, OPERATOR, randomize } from '../../support/facts.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { openGate } from '../../support/open-gate.ts';
import { check } from '../../support/property.ts';
import { Died, TurnedStore, Turns } from '../../support/turns.ts';

const KEY = makeSigningKey('trial-log');
/** The others are registered when the log may be on its way already. */
const NAMES = [CONFIGURATION.name, ...Array.from({ length: 12 }, (_, i) => `Study ${i}`)];

interface Acknowledged {
  readonly store: EventStore;
  readonly id: string;
}

class World {
  readonly choices: Choices;
  readonly turns: Turns;
  readonly source = new MemoryStore();
  readonly targets = [new MemoryStore(), new MemoryStore()] as const;
  readonly acknowledged: Acknowledged[] = [];
  actor: Actor = OPERATOR;
  /** Movers and those who give up that still run. */
  movers = 0;
  #series = 0;
  #ids = 0;

  constructor(seed: number) {
    this.choices = choicesOf(seed);
    this.turns = new Turns(this.choices);
  }

  /** @param steps until the process dies */
  open(store: EventStore, life = { steps: Number.POSITIVE_INFINITY }): EventStore {
    return new TurnedStore(store, this.turns, life, () => this.choices.between(1, 4));
  }

  tools() {
    return fixedTools(++this.#series);
  }

  someSteps(): number {
    return this.choices.chance(0.8) ? this.choices.between(0, 60) : Number.POSITIVE_INFINITY;
  }

  id(): string {
    // Clients ask both stores for the same participants.
    return `p${this.choices.between(0, ++this.#ids)}`;
  }
}

/** As src/service/open/open-log.ts puts it together, without following the log: this process hears of nothing that it does not read. */
async function openProcess(world: World, inside: EventStore) {
  const store = world.open(inside);
  const tools = world.tools();
  const runner = new Runner(store, LOG_ID, [logHistory, studyState, access, studyConfig, design]);
  await runner.catchUp('log');
  if (runner.revision('log') < 0) return undefined;
  await runner.rebuild();
  const parts = { store, logId: LOG_ID, runner, gate: openGate(runner), tools };
  return { studies: new Studies(parts), keys: new Keys(parts), runner, inside };
}
type Process = NonNullable<Awaited<ReturnType<typeof openProcess>>>;

async function register({ studies }: Process, name: string): Promise<void> {
  if (studies.find(name)) return;
  await refusable(studies.register({ ...CONFIGURATION, name }, undefined, OPERATOR));
}

/** @returns whether it was acknowledged */
async function post(world: World, { studies, inside }: Process, name: string, id: string): Promise<boolean> {
  if (!studies.find(name)) return false;
  const stream = studies.streamOf(name);
  const command = randomize(id, { levels: LEVELS });
  const written = await refusable(studies.submit(stream, command, world.actor));
  const isNew = written?.outcome.type === 'randomized';
  if (isNew) world.acknowledged.push({ store: inside, id: `${name} ${id}` });
  return isNew;
}

/** Undefined when a log that was moved refuses it. */
async function refusable<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'moved') return undefined;
    throw error;
  }
}

/** What a mover, or somebody who gives up, may end with. */
async function mayFail(run: Promise<unknown>): Promise<boolean> {
  try {
    await run;
    return true;
  } catch (error) {
    if (error instanceof MoveError || error instanceof Died || error instanceof DomainError) return false;
    throw error;
  }
}

/** As long as anybody else works, and a little longer. */
async function service(world: World, inside: EventStore): Promise<void> {
  let process: Process | undefined;
  for (let more = 5; more > 0; more -= world.movers > 0 ? 0 : 1) {
    for (let wait = world.choices.between(0, 8); wait > 0; wait--) await world.turns.take();
    if (!process || world.choices.chance(0.1)) process = await openProcess(world, inside);
    if (!process) {
      await world.turns.take();
      continue;
    }
    const name = world.choices.pick(world.choices.chance(0.5) ? NAMES : NAMES.slice(0, 1));
    if (world.choices.chance(0.5)) await register(process, name);
    await post(world, process, name, world.id());
  }
}

function partsOf(world: World, target: EventStore, steps: number) {
  const life = { steps };
  return {
    source: world.open(world.source, life),
    target: world.open(target, life),
    logId: LOG_ID,
    actor: OPERATOR,
    tools: world.tools(),
    from: 'the source',
    to: `target ${world.targets.indexOf(target as MemoryStore)}`,
  };
}

async function moving(world: World, work: Promise<void>): Promise<void> {
  world.movers++;
  await work;
  world.movers--;
}

async function mover(world: World, target: EventStore, runs: number): Promise<void> {
  for (let i = 0; i < runs; i++) {
    for (let wait = world.choices.between(0, 30); wait > 0; wait--) await world.turns.take();
    await mayFail(moveLog(partsOf(world, target, world.someSteps())));
  }
}

async function aborter(world: World, target: EventStore): Promise<void> {
  for (let wait = world.choices.between(0, 60); wait > 0; wait--) await world.turns.take();
  await mayFail(abortMove(partsOf(world, target, world.someSteps())));
}

async function eventsOf(store: EventStore): Promise<Map<string, LogEvent[]>> {
  const streams = new Map<string, LogEvent[]>();
  for await (const page of store.readAll())
    for (const stored of page)
      streams.set(stored.stream, [...(streams.get(stored.stream) ?? []), decodeRecord(stored)]);
  return streams;
}

const facts = (events: readonly LogEvent[]) =>
  events.filter((event) => !isMoveEvent(event)).map(({ id }) => id);

/** @returns participants by study and id, with their treatment */
function participantsIn(streams: ReadonlyMap<string, readonly LogEvent[]>): Map<string, string> {
  const found = new Map<string, string>();
  for (const events of streams.values()) {
    const [first] = events;
    const name = first?.type === 'StudyRegistered' ? first.data.configuration.name : '';
    for (const event of events)
      if (event.type === 'ParticipantRandomized')
        found.set(
          `${name} ${event.data.participantId}`,
          `${event.id} ${event.sections.allocation.treatment}`,
        );
  }
  return found;
}

async function begin(world: World): Promise<void> {
  const tools = world.tools();
  const header = {
    id: tools.newId(),
    log: LOG_ID,
    stream: 'log',
    revision: 0,
    at: '2026-03-01T08:00:00.000Z',
    actor: OPERATOR,
  };
  const data = { logId: LOG_ID, logName: 'trial-log', publicKey: KEY.publicKey };
  await world.source.append('log', -1, [
    encodeRecord(header, { type: 'LogCreated', data, sections: {} }, tools.newSalt),
  ]);
  const process = await openProcess(world, world.source);
  assert(process);
  const issued = await process.keys.issue({ user: 'nurse', scopes: ['randomize'] }, OPERATOR);
  assert('keyId' in issued);
  world.actor = { keyId: issued.keyId, user: 'nurse', accessRevision: 0 };
  if (world.choices.chance(0.2)) return;
  await register(process, CONFIGURATION.name);
  for (let i = world.choices.between(0, 4); i > 0; i--)
    await post(world, process, CONFIGURATION.name, world.id());
}

/** What came of it. */
const seen = { arrived: 0, givenUp: 0, untouched: 0 };

async function history(seed: number): Promise<void> {
  const world = new World(seed);
  const { choices, turns, source, targets } = world;
  const [target, another] = targets;
  await turns.until(begin(world));
  const everybody = [
    service(world, source),
    service(world, source),
    service(world, target),
    moving(world, mover(world, target, choices.between(1, 4))),
    ...(choices.chance(0.4) ? [moving(world, mover(world, target, 2))] : []),
    ...(choices.chance(0.4) ? [moving(world, mover(world, another, 2)), service(world, another)] : []),
    ...(choices.chance(0.6) ? [moving(world, aborter(world, choices.chance(0.8) ? target : another))] : []),
  ];
  await turns.until(Promise.all(everybody));

  // Whatever its state now, it can be ended: given up in each target where that is possible, or completed.
  const giveUp = choices.chance(0.6);
  const ended: EventStore[] = [];
  for (const one of targets) {
    const parts = () => partsOf(world, one, Number.POSITIVE_INFINITY);
    if (giveUp) await turns.until(mayFail(abortMove(parts())));
    else if (await turns.until(mayFail(moveLog(parts())))) ended.push(one);
    else {
      await turns.until(mayFail(abortMove(parts())));
    }
  }
  const there = new Map<EventStore, Map<string, LogEvent[]>>();
  for (const store of [source, ...targets]) there.set(store, await eventsOf(store));
  const arrived = targets.filter((store) =>
    there
      .get(store)
      ?.get('log')
      ?.some(({ type }) => type === 'LogArrived'),
  );
  assert(arrived.length <= 1, 'the log arrived in two stores');
  for (const store of ended) assert(arrived.includes(store as MemoryStore));
  const home = arrived[0] ?? source;
  const here = there.get(source) ?? new Map<string, LogEvent[]>();

  // Nobody has an arm in each: what is in two stores is one record.
  const mine = participantsIn(here);
  for (const store of targets) {
    const theirs = participantsIn(there.get(store) ?? new Map());
    for (const [id, allocation] of theirs) if (mine.has(id)) assert.equal(allocation, mine.get(id), id);
    if (store === home) {
      for (const [id, allocation] of mine)
        assert.equal(theirs.get(id), allocation, `${id} did not come along`);
      for (const [stream, events] of here) {
        const moved = (there.get(store)?.get(stream) ?? []).map(({ id }) => id);
        const ids = events.map(({ id }) => id);
        // A study that was registered after the last look is only in the source, and took nobody.
        if (moved.slice(0, ids.length).join() !== ids.join())
          assert.deepEqual(facts(events).length, 1, stream);
      }
    } else for (const id of theirs.keys()) assert(mine.has(id), `${id} is in a target that never opened`);
  }
  const atHome = participantsIn(there.get(home) ?? new Map());
  for (const { id, store } of world.acknowledged) {
    assert(atHome.has(id), `${id} was acknowledged`);
    assert(store === source || store === home, 'a store acknowledged that is not where the log is');
  }

  // Exactly one of them goes on.
  for (const store of [source, ...targets]) {
    const process = await turns.until(openProcess(world, store));
    if (process) await turns.until(register(process, 'Afterwards'));
    const isTaken = process !== undefined && (await turns.until(post(world, process, 'Afterwards', 'last')));
    assert.equal(isTaken, store === home, 'exactly one store goes on');
    // What a move that was given up has left is not a whole log.
    if (store !== source && store !== home) continue;
    const report = await verifyLog({ source: await storeSource(store), trusted: [], checkpoints: [] });
    const divergent = report.streams
      .filter(({ sound }) => !sound)
      .map(({ stream, divergence }) => ({ stream, divergence }));
    assert.deepEqual(divergent, []);
  }
  if (home !== source) seen.arrived++;
  else if (here.get('log')?.some(({ type }) => type === 'LogReopened')) seen.givenUp++;
  else seen.untouched++;
}

it('a move never gives a participant an arm in each store, whoever is interrupted and when', {
  timeout: 120_000,
}, async () => {
  await check(fc.asyncProperty(fc.noShrink(fc.integer()), history), {
    numRuns: Number(process.env['FC_RUNS'] ?? 60),
  });
  // biome-ignore lint/suspicious/noConsole: the number of attempts says how much the test shows
  console.info('moves of a log', seen);
  expect(seen.arrived).toBeGreaterThan(5);
  expect(seen.givenUp).toBeGreaterThan(0);
});
