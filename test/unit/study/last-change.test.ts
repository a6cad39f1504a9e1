/** Which changes are shown to a key that is limited to certain levels. */
import { describe, expect, it } from 'vitest';
import type { Fact, StudyFact } from '../../../events/catalogue.ts';
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import { isMoveEvent } from '../../../projections/movement.ts';
import { lastChange } from '../../../src/core/study/last-change.ts';
import { design, lastStudyWide, participantEvents, participants } from '../../../src/core/study/views.ts';
import { event, paused, randomize, randomized, registered } from '../../support/facts.ts';
import { folded } from '../../support/folded.ts';
import { beginImport, drawnRows, IMPORT } from '../../support/import-facts.ts';
import { frozenSample, frozenSamples } from '../../support/samples.ts';
import { TrialRun } from '../../support/trial-run.ts';

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
function eventsBefore({ data, stream }: LogEvent): LogEvent[] {
  const own = decodeRecord(frozenSample('StudyRegistered@4')) as LogEvent;
  if (stream === own.stream) return [own];
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
    if (!one.stream.startsWith('study-') || isMoveEvent(one)) return;
    const before = one.type === 'StudyRegistered' ? [] : eventsBefore(one);
    expect(folded(lastStudyWide, [...before, one])).toBe(isAboutOne ? 0 : one.revision);
  },
);

it('a key without limits is told of every change', () => {
  for (const fact of [paused, enrolled('a', COOK), packRevealed])
    expect(lastChange(studyOf(fact), undefined, -1)).toBe(1);
});

describe('a key of one site', () => {
  const allocated = [enrolled('a', COOK), enrolled('b', DUPAGE), enrolled('c', DUPAGE)];

  const transfer = moved('b', 2, DUPAGE, COOK);
  const TO_MEN = [{ factor: '10', levels: ['Male'] }];

  it.each<[string, number, typeof AT_COOK, number, readonly Fact[]]>([
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
    ['nothing of participants whose import was given up', 1, AT_COOK, 1, [revealed('a', 77)]],
  ])('is told of %s', (_, revision, where, after, facts) => {
    expect(lastChange(studyOf(...allocated, ...facts), where, after)).toBe(revision);
  });

  it('is told of nothing but the registration while all are elsewhere', () => {
    expect(lastChange(studyOf(enrolled('b', DUPAGE)), AT_COOK, -1)).toBe(0);
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
