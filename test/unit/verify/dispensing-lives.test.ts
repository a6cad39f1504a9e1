/**
 * Any life of a study with packs at visits: whoever reads only the specification says the same of each request and chooses the same
 * packs, no pack is given out twice, and the log is sound in every content.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTENTS, type Content, includedSections, NO_SECTIONS } from '../../../events/content.ts';
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import { presentPacks } from '../../../projections/enrolled.ts';
import type { Model } from '../../../src/core/model/model.ts';
import { studyState } from '../../../src/core/study/state.ts';
import type { RecordSource } from '../../../src/evidence/verify/source.ts';
import { visitLife } from '../../support/arbitrary-visits.ts';
import { folded } from '../../support/folded.ts';
import { check } from '../../support/property.ts';
import { VisitsLife } from '../../support/visits-life.ts';
import { type Log, STUDY, streamOf, verify } from './support.ts';

/** As a bundle of the content has it. */
function bundled(log: Log, content: Content): RecordSource {
  return {
    content,
    streams: () => log.streams(),
    async *read(stream) {
      for await (const page of log.read(stream))
        yield page.map((row) => ({
          ...row,
          sealed: stream === STUDY ? includedSections(row.sealed, content) : NO_SECTIONS,
        }));
    },
  };
}

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

describe('in any life of a study with visits', () => {
  it('requests get what the specification says, also in a dry run, and the pack that it chooses', async () => {
    await everyLife(60, () => undefined);
  });

  it('no pack is given out twice, or after it was withdrawn', async () => {
    await everyLife(30, ({ events }) => {
      const gone = new Set<string>();
      for (const event of events) {
        const code = givenBy(event);
        const isOfWrongEntry = event.type === 'AllocationForced' && event.data.replaces !== undefined;
        if (code !== undefined && !isOfWrongEntry) expect(gone).not.toContain(code);
        if (code !== undefined) gone.add(code);
        if (event.type === 'CodesWithdrawn')
          for (const withdrawn of event.sections.withdrawn.codes) {
            expect(gone).not.toContain(withdrawn);
            gone.add(withdrawn);
          }
      }
    });
  });

  it('nobody has two packs for a visit, and no pack is of two people', async () => {
    await everyLife(30, ({ model }) => {
      const codes: string[] = [];
      for (const participant of model.participants.all()) {
        const packs = presentPacks(participant);
        const visits = packs.map(({ visit }) => visit.toLowerCase());
        expect(visits).toEqual([...new Set(visits)]);
        codes.push(...packs.map(({ code }) => code), ...(participant.pack ? [participant.pack.code] : []));
      }
      expect(codes.toSorted()).toEqual([...new Set(codes)].toSorted());
    });
  });

  it('sites give out packs while there are no more than three further ones', async () => {
    await everyLife(30, ({ events }) => {
      const further = new Further();
      for (const event of events) {
        const isOfSite = 'keyId' in event.actor && event.actor.user !== 'pharmacy';
        if (isOfSite && (event.type === 'PackDispensed' || event.type === 'CodeReplaced')) {
          const most = event.type === 'PackDispensed' ? 3 : 2;
          expect(further.of(event.data.participantId)).toBeLessThanOrEqual(most);
        }
        further.take(event);
      }
    });
  });

  it('the records, read again, are the study as it is', async () => {
    await everyLife(30, ({ log, model }) => {
      expect(
        shown(
          folded(
            studyState,
            log.of(STUDY).map((row) => decodeRecord(row)),
          ) as Model,
        ),
      ).toEqual(shown(model));
    });
  });

  it('a verification finds nothing wrong, whatever the content', async () => {
    await everyLife(25, async ({ log, events }) => {
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
