/** Which changes are shown to a key that is limited to certain levels. */
import { describe, expect, it } from 'vitest';
import type { Fact, StudyFact } from '../../../events/catalogue.ts';
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import { isMoveEvent } from '../../../projections/movement.ts';
import { lastChange } from '../../../src/core/study/last-change.ts';
import { evolve, type StudyState } from '../../../src/core/study/state.ts';
import { design, lastStudyWide, participantEvents, participants } from '../../../src/core/study/views.ts';
import { event, paused, randomized, registered } from '../../support/facts.ts';
import { folded } from '../../support/folded.ts';
import { IMPORT } from '../../support/import-facts.ts';
import { frozenSample, frozenSamples } from '../../support/samples.ts';

const COOK = '11-Cook County – Chicago';
const DUPAGE = '30-Dupage County';
const AT_COOK = [{ factor: '9', levels: [COOK] }];
const AT_DUPAGE = [{ factor: '9', levels: [DUPAGE] }];

const enrolled = (participantId: string, site: string): StudyFact => ({
  ...randomized(participantId),
  data: {
    participantId,
    levels: [
      { factor: '10', level: 'Female' },
      { factor: '9', level: site },
    ],
  },
});
const revealed = (participantId: string, randomizedAt: number): StudyFact => ({
  type: 'AllocationRevealed',
  data: {
    reveal: '7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4',
    category: 'emergency',
    participantId,
    randomizedAt,
  },
  sections: { grounds: { reason: 'anaphylaxis' } },
});
const packRevealed: StudyFact = {
  type: 'AllocationRevealed',
  data: { reveal: '7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4', category: 'emergency', code: 'P1' },
  sections: { grounds: { reason: 'found in a ward' } },
};
const moved = (participantId: string, randomizedAt: number, from: string, to: string): StudyFact => ({
  type: 'LevelsCorrected',
  data: {
    cause: 'transfer',
    changes: [{ factor: '9', from, to }],
    counts: 'as-randomized',
    participantId,
    randomizedAt,
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

describe('a key without limits', () => {
  it('is told of every change', () => {
    for (const fact of [paused, enrolled('a', COOK), packRevealed])
      expect(lastChange(studyOf(fact), undefined, -1)).toBe(1);
  });
});

describe('a key of one site', () => {
  const allocated = [enrolled('a', COOK), enrolled('b', DUPAGE), enrolled('c', DUPAGE)];

  it('is told of its own allocations, and not of others', () => {
    expect(lastChange(studyOf(...allocated), AT_COOK, -1)).toBe(1);
    expect(lastChange(studyOf(...allocated), AT_DUPAGE, -1)).toBe(3);
    expect(lastChange(studyOf(...allocated, enrolled('d', COOK)), AT_COOK, 1)).toBe(4);
    expect(lastChange(studyOf(enrolled('b', DUPAGE)), AT_COOK, -1)).toBe(0);
  });

  it('is told of changes to the study', () => {
    expect(lastChange(studyOf(...allocated, paused, enrolled('d', DUPAGE)), AT_COOK, 1)).toBe(4);
  });

  it('is told of changes to its own participants, and not to others', () => {
    expect(lastChange(studyOf(...allocated, revealed('a', 1)), AT_COOK, 1)).toBe(4);
    expect(lastChange(studyOf(...allocated, revealed('b', 2)), AT_COOK, 1)).toBe(1);
    expect(lastChange(studyOf(...allocated, revealed('a', 1), revealed('b', 2)), AT_COOK, -1)).toBe(4);
  });

  it('is told of transfers to and from its site', () => {
    const transfer = moved('b', 2, DUPAGE, COOK);
    for (const where of [AT_COOK, AT_DUPAGE]) {
      expect(lastChange(studyOf(...allocated, transfer), where, 3)).toBe(4);
      expect(lastChange(studyOf(...allocated, transfer, revealed('b', 2)), where, 4)).toBe(
        where === AT_COOK ? 5 : 4,
      );
    }
    const other = [{ factor: '10', levels: ['Male'] }];
    expect(lastChange(studyOf(...allocated, transfer), other, 0)).toBe(0);
  });

  it('is not told of packs that nobody had, or of participants whose import was given up', () => {
    expect(lastChange(studyOf(...allocated, packRevealed), AT_COOK, 1)).toBe(1);
    expect(lastChange(studyOf(...allocated, revealed('a', 77)), AT_COOK, 1)).toBe(1);
  });

  it('hears of participants who come while it listens, after an import was given up', () => {
    const generator = registered().sections.generator;
    const begun: StudyFact = {
      type: 'HistoryImported',
      data: {
        ...{ approvals: [], generator: 'fresh', import: IMPORT, proof: { redrawn: 0, unproven: 1 } },
        source: { format: 'reference', rows: 1 },
      },
      sections: { source: { sha256: '0'.repeat(64) }, generator },
    };
    const ended: StudyFact = {
      type: 'HistoryImportEnded',
      data: { aborted: true, import: IMPORT, reason: 'the wrong file' },
      sections: {},
    };
    const facts = [registered(), begun, ended, enrolled('a', COOK)];
    let state: StudyState = { status: 'unregistered' };
    let held: ReturnType<typeof participants.select> | undefined;
    for (const [revision, fact] of facts.entries()) {
      state = evolve(state, event(fact, revision));
      // The request came during the import.
      if (revision === 1) held = participants.select(state);
    }
    if (!held) throw new Error('nobody listens');
    expect(participants.select(state)).toBe(held);
    expect(lastChange({ ...studyOf(...facts.slice(1)), participants: held }, AT_COOK, 2)).toBe(3);
  });

  it('is not told of changes older than the one it knows', () => {
    expect(lastChange(studyOf(...allocated), AT_COOK, 2)).toBe(2);
  });
});
