/**
 * Any life of a study with packs at visits: whoever reads only the specification says the same of each request and chooses the same
 * packs, no pack is given out twice, and the log is sound in every content.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTENTS, decodeRecord } from '../../../events/record.ts';
import type { Model } from '../../../src/core/model/model.ts';
import { isFor, isFree } from '../../../src/core/model/packs.ts';
import { evolve, fork, type StudyState, studyState } from '../../../src/core/study/fold.ts';
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

/** Those that a participant of this site may get, as they are kept, and among all that were ever registered. */
function freeCodes(model: Model, site: string): [kept: string[], found: string[]] {
  const kept = model.free.for([site], model.design).map(({ code }) => code);
  const found = [...model.packs.entries()].flatMap(([code, pack]) =>
    isFree(model, code) && isFor(pack, model.design, [site]) ? [code] : [],
  );
  return [kept.toSorted(), found.toSorted()];
}

describe('in any life of a study with visits', () => {
  it('requests get what the specification says, also in a dry run, and packs are kept as free while they are', async () => {
    // That each life can be made at all is that the answers are those of the specification: then packs are fresh, of the
    // arm, of one person and visit, and few.
    await everyLife(60, ({ model }) => {
      for (const site of model.design.factors[0]?.levels ?? []) {
        const [kept, found] = freeCodes(model, site);
        expect(kept).toEqual(found);
      }
    });
  });

  it('the records are sound, whatever the content, and the study as it is, read again or folded on forks of forks', async () => {
    await everyLife(30, async ({ log, model, events }) => {
      const again = folded(
        studyState,
        log.of(STUDY).map((row) => decodeRecord(row)),
      );
      // On these, batches are decided.
      const onForks = events.reduce<StudyState>(
        (state, one, n) => evolve(n % 4 === 0 ? fork(state) : state, one),
        studyState.initial(),
      );
      for (const one of [again, onForks]) expect(shown(one as Model)).toEqual(shown(model));
      for (const source of [log, ...CONTENTS.map((content) => bundled(log, content))]) {
        const { sound, divergence, records } = streamOf(await verify(source));
        expect([divergence, sound, records]).toEqual([undefined, true, events.length]);
      }
      const first = events.findIndex(({ type }) => type === 'PackDispensed');
      if (first < 0) return;
      log.of(STUDY).splice(first + 1);
      expect(streamOf(await verify(log)).life?.packs).toMatchObject({ dispensed: 1, corrected: 0 });
    });
  });
});

describe('the lives that are tried', () => {
  it('show every answer that there is, again and again', () => {
    const all = fc.sample(visitLife, { seed: 1, numRuns: 30 }).flatMap((steps) => new VisitsLife(steps).said);
    const words = all.map((said) => (typeof said === 'string' ? said : 'recorded'));
    const often = [...new Set(words)].filter((word) => words.filter((one) => one === word).length > 2);
    expect(often.toSorted().join(' ')).toBe(
      'dispensed-already impossible no-code no-such-participant recorded stale unfit',
    );
  });
});
