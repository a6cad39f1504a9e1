/**
 * Any life of a study with packs at visits: whoever reads only the specification says the same of each request and chooses the same
 * packs, no pack is given out twice, and the log is sound in every content.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTENTS } from '../../../events/content.ts';
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import { presentPacks } from '../../../projections/enrolled.ts';
import type { Model } from '../../../src/core/model/model.ts';
import { studyState } from '../../../src/core/study/state.ts';
import { visitLife } from '../../support/arbitrary-visits.ts';
import { folded } from '../../support/folded.ts';
import { check } from '../../support/property.ts';
import { VisitsLife } from '../../support/visits-life.ts';
import { bundled, STUDY, streamOf, verify } from './support.ts';

const everyLife = (numRuns: number, expectOf: (life: VisitsLife) => void | Promise<void>) =>
  check(
    fc.asyncProperty(visitLife, async (steps) => expectOf(new VisitsLife(steps))),
    { numRuns },
  );

/** The pack that an event gives out, and to whom. */
function givenBy({ type, data }: LogEvent): string | undefined {
  if (type === 'CodeReplaced') return data.by;
  const gives = type === 'ParticipantRandomized' || type === 'AllocationForced' || type === 'PackDispensed';
  return gives ? data.code : undefined;
}

/** How many packs a participant had beyond those of the enrolment and of each visit, before each of these events. */
class Further {
  readonly #replaced = new Map<string, number>();
  readonly #void = new Map<string, Set<string>>();

  of(id: string): number {
    return (this.#replaced.get(id) ?? 0) + (this.#void.get(id)?.size ?? 0);
  }

  take({ type, data }: LogEvent): void {
    if (type === 'CodeReplaced')
      this.#replaced.set(data.participantId, (this.#replaced.get(data.participantId) ?? 0) + 1);
    if (type === 'DispensationCorrected') {
      const codes = this.#void.get(data.participantId) ?? new Set();
      this.#void.set(data.participantId, codes);
      if (data.to === undefined) codes.add(data.code);
      else codes.delete(data.code);
    }
    if (type !== 'AllocationForced') return;
    this.#replaced.delete(data.participantId);
    this.#void.delete(data.participantId);
  }
}

function shown({ design, free, given, participants, status, withdrawn, ...model }: Model) {
  const { factors } = design;
  return {
    ...{ design, status, participants: participants.inOrder, lists: model.lists, hasVisits: model.hasVisits },
    given: new Map(given.entries()),
    withdrawn: new Map(withdrawn.entries()),
    free: factors[0]?.levels.map((level) => free.for([level], design).map(({ code }) => code)),
    counts: factors[0]?.levels.map((_, level) => [...model.counts.of(0, level)]),
  };
}

/** No pack is given out twice, or after it was withdrawn. */
function expectFreshPacks(events: readonly LogEvent[]): void {
  const gone = new Set<string>();
  for (const event of events) {
    const code = givenBy(event);
    const isOfWrongEntry = event.type === 'AllocationForced' && event.data.replaces !== undefined;
    if (code !== undefined && !isOfWrongEntry) expect(gone, 'given out twice').not.toContain(code);
    if (code !== undefined) gone.add(code);
    if (event.type === 'CodesWithdrawn')
      for (const withdrawn of event.sections.withdrawn.codes) {
        expect(gone, 'withdrawn after it was given out').not.toContain(withdrawn);
        gone.add(withdrawn);
      }
  }
}

/** Nobody has two packs for a visit, and no pack is of two people. */
function expectOwnPacks({ participants }: Model): void {
  const codes: string[] = [];
  for (const participant of participants.all()) {
    const packs = presentPacks(participant);
    const visits = packs.map(({ visit }) => visit.toLowerCase());
    expect(visits, 'two packs for a visit').toEqual([...new Set(visits)]);
    codes.push(...packs.map(({ code }) => code), ...(participant.pack ? [participant.pack.code] : []));
  }
  expect(codes.toSorted(), 'a pack of two people').toEqual([...new Set(codes)].toSorted());
}

/** Sites give out packs while there are no more than three further ones. */
function expectFewFromSites(events: readonly LogEvent[]): void {
  const further = new Further();
  for (const event of events) {
    const isOfSite = 'keyId' in event.actor && event.actor.user !== 'pharmacy';
    if (isOfSite && (event.type === 'PackDispensed' || event.type === 'CodeReplaced')) {
      const most = event.type === 'PackDispensed' ? 3 : 2;
      expect(further.of(event.data.participantId), 'too many from a site').toBeLessThanOrEqual(most);
    }
    further.take(event);
  }
}

describe('in any life of a study with visits', () => {
  it('requests get what the specification says, also in a dry run; packs are fresh, of one person and visit, and few', async () => {
    // That each life can be made at all is that the answers are those of the specification.
    await everyLife(60, ({ events, model }) => {
      expectFreshPacks(events);
      expectOwnPacks(model);
      expectFewFromSites(events);
    });
  });

  it('the records, read again, are the study as it is, and sound, whatever the content', async () => {
    await everyLife(30, async ({ log, model, events }) => {
      const again = folded(
        studyState,
        log.of(STUDY).map((row) => decodeRecord(row)),
      );
      expect(shown(again as Model)).toEqual(shown(model));
      for (const source of [log, ...CONTENTS.map((content) => bundled(log, content))]) {
        const { sound, divergence, records } = streamOf(await verify(source));
        expect([divergence, sound, records]).toEqual([undefined, true, events.length]);
      }
    });
  });
});

describe('the lives that are tried', () => {
  it('show every answer that there is, again and again', () => {
    const all = fc.sample(visitLife, { seed: 1, numRuns: 60 }).flatMap((steps) => new VisitsLife(steps).said);
    const words = all.map((said) => (typeof said === 'string' ? said : 'recorded'));
    const often = [...new Set(words)].filter((word) => words.filter((one) => one === word).length > 2);
    expect(often.toSorted()).toEqual([
      'dispensed-already',
      'impossible',
      'no-code',
      'no-such-participant',
      'recorded',
      'stale',
      'unfit',
    ]);
  });
});
