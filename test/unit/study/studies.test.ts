/** Studies of a log, and which of their changes are shown to a key that is limited to certain levels. */
import { describe, expect, it } from 'vitest';
import type { Fact, StudyFact } from '../../../events/catalogue.ts';
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import { Runner } from '../../../projections/runner.ts';
import {
  design,
  lastStudyWide,
  participantEvents,
  participants,
  studyConfig,
  studyState,
} from '../../../src/core/study/fold.ts';
import { Studies } from '../../../src/core/study/studies.ts';
import { lastChange } from '../../../src/service/http/routes/changes.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import {
  CONFIGURATION,
  event,
  NURSE,
  OPERATOR,
  paused,
  randomize,
  randomized,
  registered,
  SEED,
} from '../../support/facts.ts';
import { FaultyStore } from '../../support/faulty-store.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { folded } from '../../support/folded.ts';
import { beginImport, drawnRows, IMPORT } from '../../support/import-facts.ts';
import { openGate } from '../../support/open-gate.ts';
import { frozenSample, frozenSamples } from '../../support/samples.ts';
import { TrialRun } from '../../support/trial-run.ts';

function studiesAt(store: EventStore = new MemoryStore(), series = 0) {
  const runner = new Runner(store, LOG_ID, [studyConfig, studyState, design]);
  return {
    studies: new Studies({ store, logId: LOG_ID, runner, gate: openGate(runner), tools: fixedTools(series) }),
    runner,
    store,
  };
}
const named = (name: string) => ({ ...CONFIGURATION, name });

describe('a study', () => {
  it('is in a stream whose UUID v5 is derived from its name and its log', async () => {
    const { studies } = studiesAt();
    expect(studies.isNew('CHS JCOIN')).toBe(true);
    await studies.register(CONFIGURATION, SEED, OPERATOR);
    expect(studies.isNew('CHS JCOIN')).toBe(false);
    const stream = studies.streamOf('CHS JCOIN');
    expect(stream).toMatch(/^study-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(studies.find('CHS JCOIN')).toMatchObject({
      stream,
      revision: 0,
      registered: { studyId: stream.slice(6), seed: `${SEED}` },
    });
    expect(studiesAt().studies.streamOf('CHS JCOIN')).toBe(stream);
  });

  it('may have any name, and each name has its own stream', async () => {
    const names = ['é', 'e\u0301', '__proto__', 'study-', '../x', '\u{1f600}', 'a', 'A', 'a '];
    const { studies } = studiesAt();
    for (const name of names)
      expect(await studies.register(named(name), undefined, OPERATOR)).toBe('registered');
    expect(studies.list().map(({ registered }) => registered.configuration.name)).toEqual(names);
    expect(new Set(names.map((name) => studies.streamOf(name))).size).toBe(names.length);
    // Each gets a random seed of 128 bits, since none is given.
    const drawn = studies.list().map(({ registered }) => registered);
    expect(new Set(drawn.map(({ seed }) => seed)).size).toBe(names.length);
    for (const { seed, seedSource } of drawn)
      expect([BigInt(seed) < 2n ** 128n, seedSource]).toEqual([true, 'drawn']);
    expect(studies.find('b')).toBeUndefined();
  });

  it('is registered once, and a second process adopts the registration of the first', async () => {
    const one = studiesAt(undefined, 1);
    const two = studiesAt(one.store, 2);
    const outcomes = await Promise.all([
      one.studies.register(CONFIGURATION, 1n, OPERATOR),
      two.studies.register({ ...CONFIGURATION, w: 7 }, 2n, OPERATOR),
    ]);
    expect(outcomes.sort()).toEqual(['already-registered', 'registered']);
    expect(two.studies.find(CONFIGURATION.name)?.registered).toEqual(
      one.studies.find(CONFIGURATION.name)?.registered,
    );
  });

  it('shows in a dry run what another process wrote, or that this cannot be read', async () => {
    const one = studiesAt();
    const store = new FaultyStore(one.store);
    const { studies } = studiesAt(store);
    await one.studies.register(CONFIGURATION, SEED, OPERATOR);
    const stream = studies.streamOf(CONFIGURATION.name);
    await one.studies.submit(stream, randomize('001'), NURSE);
    expect(await studies.tryOut(stream, randomize('001'))).toMatchObject({
      ...{ outcome: { type: 'duplicate' }, revision: 1 },
    });
    store.unreadable = true;
    await expect(studies.tryOut(stream, randomize('002'))).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('can be suspended in this process, for as long as its file differs', async () => {
    const { studies } = studiesAt();
    await studies.register(CONFIGURATION, SEED, OPERATOR);
    const stream = studies.streamOf(CONFIGURATION.name);
    expect(studies.isSuspended(stream)).toBe(false);
    let differs = true;
    studies.suspendWhile(stream, () => differs);
    expect(studies.isSuspended(stream)).toBe(true);
    differs = false;
    expect(studies.isSuspended(stream)).toBe(false);
  });
});

it('studies are written to in parallel, and drained together', async () => {
  const { studies, runner } = studiesAt();
  const names = ['a', 'b', 'c'];
  for (const name of names) await studies.register(named(name), undefined, OPERATOR);
  const streams = names.map((name) => studies.streamOf(name));
  for (let i = 0; i < 30; i++) void studies.submit(streams[i % 3] ?? '', randomize(`${i}`), NURSE);
  await studies.drain();
  expect(streams.map((stream) => runner.revision(stream))).toEqual([10, 10, 10]);
});

const COOK = '11-Cook County – Chicago';
const DUPAGE = '30-Dupage County';
const AT_COOK = [{ factor: '9', levels: [COOK] }];
const AT_DUPAGE = [{ factor: '9', levels: [DUPAGE] }];

const enrolled = (participantId: string, level: string): StudyFact => ({
  ...randomized(participantId),
  data: {
    participantId,
    levels: [
      { factor: '10', level: 'Female' },
      { factor: '9', level },
    ],
  },
});
const revealedOf = (about: object): StudyFact => ({
  ...{ type: 'AllocationRevealed', sections: { grounds: { reason: 'anaphylaxis' } } },
  data: { reveal: '7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4', category: 'emergency', ...about },
});
const revealed = (participantId: string, randomizedAt: number) => revealedOf({ participantId, randomizedAt });
const packRevealed = revealedOf({ code: 'P1' });
const moved = (participantId: string, randomizedAt: number, from: string, to: string): StudyFact => ({
  type: 'LevelsCorrected',
  data: {
    ...{ cause: 'transfer', counts: 'as-randomized', participantId, randomizedAt },
    changes: [{ factor: '9', from, to }],
  },
  sections: { note: { text: 'moved house' } },
});

/** These follow the registration, which has revision 0. */
function studyOf(...facts: readonly Fact[]) {
  const events = [registered(), ...facts].map((fact, revision) => event(fact, revision));
  const inForce = folded(design, events);
  if (!inForce) throw new Error('a study without a design');
  return {
    revision: facts.length,
    lastStudyWide: folded(lastStudyWide, events),
    design: inForce,
    participants: folded(participants, events),
    events: folded(participantEvents, events),
  };
}

/** The registration of the samples, and the participant whom the event is about, if it is not the one who enrols them. */
function eventsBefore({ data }: LogEvent): LogEvent[] {
  const [registration, enrolment] = ['StudyRegistered@1', 'ParticipantRandomized@1'].map((name) =>
    decodeRecord(frozenSample(name)),
  ) as [LogEvent, LogEvent];
  if (!('randomizedAt' in data) || !('participantId' in data)) return [registration];
  const { participantId } = data;
  return [registration, { ...enrolment, data: { ...enrolment.data, participantId } } as LogEvent];
}

it.each(frozenSamples())(
  'an event that names a participant is not about the whole study: $name',
  (sample) => {
    const one = decodeRecord(sample);
    const isAboutOne = 'participantId' in one.data || one.type === 'CodeReplaced';
    if (!one.stream.startsWith('study-')) return;
    const before = one.type === 'StudyRegistered' ? [] : eventsBefore(one);
    expect(folded(lastStudyWide, [...before, one])).toBe(isAboutOne ? 0 : one.revision);
  },
);

describe('a key of one site', () => {
  const allocated = [enrolled('a', COOK), enrolled('b', DUPAGE), enrolled('c', DUPAGE)];

  const transfer = moved('b', 2, DUPAGE, COOK);
  const TO_MEN = [{ factor: '10', levels: ['Male'] }];

  it.each<[string, number, typeof AT_COOK | undefined, number, readonly Fact[]]>([
    ['its own allocation', 1, AT_COOK, -1, []],
    ['the last one of its own allocations', 3, AT_DUPAGE, -1, []],
    ['nothing older than what it knows', 2, AT_COOK, 2, []],
    ['a change to the study', 4, AT_COOK, 1, [paused, enrolled('d', DUPAGE)]],
    ['a change to its own participant', 4, AT_COOK, 1, [revealed('a', 1)]],
    ['no change to another participant', 1, AT_COOK, 1, [revealed('b', 2)]],
    ['a transfer to its site', 4, AT_COOK, 3, [transfer]],
    ['a transfer from its site', 4, AT_DUPAGE, 3, [transfer]],
    ['a change after the transfer to its site', 5, AT_COOK, 4, [transfer, revealed('b', 2)]],
    ['no change after the transfer from its site', 4, AT_DUPAGE, 4, [transfer, revealed('b', 2)]],
    ['no transfer of those whom it may not see', 0, TO_MEN, 0, [transfer]],
    ['no code-break of a pack that nobody had', 1, AT_COOK, 1, [packRevealed]],
    ['that if it has no limits', 4, undefined, -1, [packRevealed]],
    ['nothing of participants whose import was given up', 1, AT_COOK, 1, [revealed('a', 77)]],
  ])('is told of %s', (_, revision, where, after, facts) => {
    expect(lastChange(studyOf(...allocated, ...facts), where, after)).toBe(revision);
  });

  it('hears of participants who come while it listens, after an import was given up', () => {
    const trial = new TrialRun();
    trial.ask(beginImport(drawnRows([{}])));
    // The request came during the import.
    const held = participants.select(trial.state);
    trial.all([
      { type: 'end-import', import: IMPORT, abortedBecause: 'the wrong file' },
      randomize('a', { levels: ['Female', COOK] }),
    ]);
    expect(trial.list).toBe(held);
    const now = studyOf(...trial.facts.slice(1));
    expect(lastChange({ ...now, participants: held }, AT_COOK, 2)).toBe(3);
  });
});
