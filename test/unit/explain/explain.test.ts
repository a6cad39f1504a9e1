import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { decodeRecord } from '../../../events/record.ts';
import type { BgState } from '../../../events/study.ts';
import { RecordError } from '../../../src/base/errors.ts';
import { registeredDesign } from '../../../src/core/model/design.ts';
import type { Model } from '../../../src/core/model/model.ts';
import type { ParticipantEvent } from '../../../src/core/model/participants.ts';
import { evolve, studyState } from '../../../src/core/study/fold.ts';
import { explain, type RandomizedEvent } from '../../../src/evidence/explain/explain.ts';
import { countMoves, Explanation, UrnExplanation } from '../../../src/evidence/explain/explanation.ts';
import { explanationText } from '../../../src/evidence/explain/explanation-text.ts';
import { CONFIGURATION, event, LEVELS } from '../../support/facts.ts';
import { exactImbalance } from '../../support/fraction.ts';
import { frozenSample } from '../../support/samples.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { drawIn } from '../../support/urn-study.ts';
import { type ReferenceHistory, referenceHistories } from '../../support/vectors.ts';

/** The study of the frozen samples before its first participant, and that participant's event. */
function sample(): { before: Model; first: RandomizedEvent } {
  const before = evolve(studyState.initial(), decodeRecord(frozenSample('StudyRegistered@1'))) as Model;
  return { before, first: decodeRecord(frozenSample('ParticipantRandomized@1')) as RandomizedEvent };
}
const { before, first } = sample();
const EXPLAINED = explain(before, first);

/** Every participant of a history, drawn again, with what is explained of it from the study before it. */
function explanations({ configuration, seed, participants }: ReferenceHistory): UrnExplanation[] {
  const trial = new TrialRun(configuration, seed);
  return participants.map(({ levelIndexes }, i) => {
    const levels = configuration.factors.map((factor, f) => factor.levels[levelIndexes[f] ?? -1] ?? '');
    const then = trial.copy().registered;
    trial.enrol(`${i}`, levels);
    const happened = event(trial.facts.at(-1) as StudyFact, i + 1);
    return UrnExplanation.parse(explain(then, happened as RandomizedEvent));
  });
}

function withNumbers({ state: { inc, state }, ...rest }: BgState) {
  return { ...rest, state: { inc: BigInt(inc), state: BigInt(state) } };
}

it('the explanation of the frozen sample does not change the state, and is the same every time', () => {
  expect(explain(before, first)).toEqual(EXPLAINED);
  expect(sample().before).toEqual(before);
});

describe('the explanation of the reference implementation’s histories', () => {
  const studies = referenceHistories().map((history) => ({
    ...{ history, explanations: explanations(history), name: history.configuration.name },
  }));

  it.each(studies)(
    'matches each participant: $name',
    ({ history: { configuration, participants }, explanations }) => {
      expect(explanations).toHaveLength(participants.length);
      explanations.forEach((explanation, i) => {
        const { urns, candidates, lot, uniform53, uniform, cumulative, trt } = explanation;
        const expected = participants[i];
        expect(Explanation.parse(explanation)).toEqual(explanation);
        expect(trt).toBe(expected?.treatment);
        expect(explanation.bg_state_after).toEqual(expected && withNumbers(expected.bgStateAfter));
        expect(explanation.differences).toEqual([]);
        expect(explanation.earlier_participants).toBe(i);

        const largest = Math.max(...urns.map(({ imbalance }) => imbalance));
        const most = urns.filter(({ imbalance }) => imbalance === largest).map(({ factor }) => factor);
        expect(candidates.toSorted()).toEqual(most.toSorted());
        expect(urns.filter(({ candidate }) => candidate).map(({ factor }) => factor)).toEqual(most);
        expect(lot?.below ?? 1).toBe(candidates.length);
        expect(explanation.selected_factor).toBe(candidates[lot?.result ?? 0]);
        expect(urns.filter(({ selected }) => selected).map(({ factor }) => factor)).toEqual([
          explanation.selected_factor,
        ]);

        expect(uniform * 2 ** 53).toBe(uniform53);
        const arm = configuration.treatments.indexOf(trt);
        expect(cumulative[arm]).toBeGreaterThan(uniform);
        expect(cumulative[arm - 1] ?? 0).toBeLessThanOrEqual(uniform);
        expect(cumulative.at(-1)).toBe(1);
      });
    },
  );

  it('points out the known hazard each of the 14 times it occurs', () => {
    const shown = studies.flatMap(({ explanations }) => explanations);
    expect(shown).toHaveLength(2100);
    const hit = shown.filter(({ missed_by_rounding }) => missed_by_rounding.length > 0);
    expect(hit).toHaveLength(14);
    for (const { D, urns, missed_by_rounding, candidates } of shown) {
      const exactly = (balls: readonly number[]) => `${exactImbalance(D, balls)}`;
      const selected = urns.find((urn) => urn.selected)?.balls ?? [];
      const equal = urns.filter(({ balls }) => exactly(balls) === exactly(selected));
      expect(missed_by_rounding).toEqual(
        equal.map(({ factor }) => factor).filter((factor) => !candidates.includes(factor)),
      );
    }
  });
});

describe('the explanation of a record that contradicts its history', () => {
  const draw = drawIn(first.sections);
  const withSections = (changed: object) => ({ ...first, sections: { ...first.sections, ...changed } });
  const withDraw = (changed: Partial<typeof draw>) => withSections({ draw: { ...draw, ...changed } });
  const other = { ...draw.bgStateAfter, uinteger: 7 };
  const SEVEN = expect.stringContaining('"uinteger":7');

  it.each<[string, RandomizedEvent, string, string]>([
    ['treatment', withSections({ allocation: { treatment: 'RMC-A' } }), '"RMC-A"', '"MART"'],
    ['balls', withDraw({ balls: [1, 2, 1] }), '[1,2,1]', '[1,1,1]'],
    ['counts', withDraw({ counts: [0, 1, 0] }), '[0,1,0]', '[0,0,0]'],
    ['candidates', withDraw({ candidates: ['sex'] }), '["sex"]', '["10","9","local_site","sex"]'],
    ['selectedFactor', withDraw({ selectedFactor: '9' }), '"9"', '"sex"'],
    ['uniform53', withDraw({ uniform53: 1 }), '1', '469233380723001'],
    ['bgStateBefore', withDraw({ bgStateBefore: other }), SEVEN, expect.any(String)],
    ['bgStateAfter', withDraw({ bgStateAfter: other }), SEVEN, expect.any(String)],
  ])('reports %s', (field, doctored, recorded, recomputed) => {
    expect(explain(before, doctored).differences).toEqual([{ field, recorded, recomputed }]);
  });

  it('reports levels recorded under the names of other factors, and cannot be of levels that there are not', () => {
    const { levels } = first.data;
    const withLevels = (changed: typeof levels) => ({ ...first, data: { ...first.data, levels: changed } });
    const turned = levels.map((named, i) => ({ ...named, factor: levels.at(i - 1)?.factor ?? '' }));
    expect(explain(before, withLevels(turned)).differences.map(({ field }) => field)).toEqual(['levels']);
    const none = levels.map((named) => ({ ...named, level: 'none' }));
    expect(() => explain(before, withLevels(none))).toThrow(RecordError);
    expect(() => explain(before, withLevels(levels.slice(1)))).toThrow(/\/1: /);
  });
});

describe('the text of an explanation', () => {
  it('names the pack, if there is one', () => {
    const text = explanationText({ ...EXPLAINED, code: 'AF5-0017' });
    expect(text).toContain(
      '0 participants counted before. The pack was AF5-0017, which no random number chose.\n',
    );
  });

  it('is complete for the frozen sample', () => {
    expect(explanationText(EXPLAINED)).toBe(`Why participant 001-0001 was assigned to MART
Study CHS JCOIN. Randomized 2026-02-21T08:15:44.120Z by site-11, on behalf of Dr. Müller, as revision 1 of the study; 0 participants counted before.

1. Urns: one for the level that this participant has of each factor
   Of treatment k, an urn holds  w + alpha x n + beta x (N - n)  balls, where n is the number of earlier
   participants of that level on treatment k, and N of those on any treatment.
   In this study w = 1, alpha = 0, beta = 1.

                                                        MART  RMC-Q  RMC-A  all
   sex = Female                           participants     0      0      0    0
                                          balls            1      1      1    3
   local_site = 11-Cook County – Chicago  participants     0      0      0    0
                                          balls            1      1      1    3
   10 = new                               participants     0      0      0    0
                                          balls            1      1      1    3
   9 = ≤ 1 year                           participants     0      0      0    0
                                          balls            1      1      1    3

2. Imbalance d of each urn, by the study's measure (chisquare)
   sex = Female                           0  <- largest
   local_site = 11-Cook County – Chicago  0  <- largest
   10 = new                               0  <- largest
   9 = ≤ 1 year                           0  <- largest

3. Candidates: the urns with exactly the largest imbalance
   10, 9, local_site, sex  (sorted by name)

4. Lot
   A lot was cast among the 4 candidates, as a uniform random whole number from 0 to 3: it is 3, so sex.
   0  10
   1  9
   2  local_site
   3  sex         <- the lot

5. Draw of a ball from the urn of sex = Female
   A uniform random number from 0 to below 1:  u = 469233380723001 x 2^-53 = 0.05209537032013778

   treatment  balls  probability         from                to below
   MART           1  0.3333333333333333  0                   0.3333333333333333  <- u falls here
   RMC-Q          1  0.3333333333333333  0.3333333333333333  0.6666666666666666
   RMC-A          1  0.3333333333333333  0.6666666666666666  1

   Treatment: MART

The generator (numpy's PCG64) before and after
               before                                  after
   state       46589044076700962482701453278850284970  176901181998510727776765893136874373876
   inc         16456292381734637728927264204220755567  16456292381734637728927264204220755567
   has_uint32  0                                       1
   uinteger    0                                       615364793

Compared with the record
   All of the above was worked out again from the registered configuration and the records before this one.
   The record says the same: levels, candidates, selected urn with its counts and balls, random number, both
   states of the generator, and treatment.`);
  });

  it('warns at the top of a record that contradicts its history, and gives the details at the end', () => {
    const differences = [{ field: 'treatment', recorded: '"RMC-A"', recomputed: '"MART"' }];
    const lines = explanationText({ ...EXPLAINED, agrees: false, differences }).split('\n');
    expect(lines[0]).toBe(
      'THE RECORD OF PARTICIPANT 001-0001 DIFFERS from what is worked out here: MART (see the end)',
    );
    expect(lines.slice(-6)).toEqual([
      '   THE RECORD SAYS OTHERWISE. The above was worked out again from the earlier records. This record, or one before it,',
      '   is not what the service wrote. In this record:',
      '',
      '   treatment',
      '      recorded:    "RMC-A"',
      '      worked out:  "MART"',
    ]);
    expect(lines.join('\n')).not.toContain('was assigned to');
  });

  it('says that no lot was cast if there was one candidate, and names an urn that rounding left out', () => {
    const only = { lot: undefined, candidates: ['sex'], missed_by_rounding: ['local_site'] };
    const text = explanationText({ ...EXPLAINED, ...only });
    expect(text).toContain('None was cast: sex is the only candidate.');
    expect(text).toContain('on paper these are equally imbalanced, too: local_site.');
  });

  it('contains nothing that a terminal obeys', () => {
    const text = explanationText({ ...EXPLAINED, user: 'a\u001b[2Jb\nc' });
    expect(text).toContain('by a [2Jb c, on');
    expect(text).not.toContain('\u001b');
  });
});

/** Which corrections of allocations that were entered by hand an explanation names. */
const { factors } = registeredDesign(CONFIGURATION);
const correction = (revision: number, type: StudyFact['type'], data: object) =>
  event(
    { type, data: { participantId: '002', ...data }, sections: { note: { text: 'x' } } } as StudyFact,
    revision,
  ) as ParticipantEvent;

/** The entry at revision 2 was wrong; that at revision 4 replaces it, and its level is corrected. */
const corrections = [
  correction(3, 'AllocationVoided', {
    ...{ analysis: 'exclude', cause: 'entry', counts: 'removed', randomizedAt: 2 },
  }),
  correction(5, 'LevelsCorrected', {
    ...{ cause: 'entry', counts: 'as-corrected', randomizedAt: 4 },
    changes: [{ factor: '10', from: 'Female', to: 'Male' }],
  }),
];

const moves = (isCounted: boolean) =>
  countMoves(
    corrections,
    (participantId) => ({
      participantId,
      levels: LEVELS,
      revision: 4,
      forced: { isCounted, cause: 'outage' as const },
    }),
    { factors, epochBegan: 0 },
  ).map(({ revision, levels }) => [revision, levels.map(({ level }) => level)]);

it('the corrections of an allocation that was entered by hand are those of the entry in use, if the urns count it', () => {
  // One that was replaced has left nothing in the urns.
  expect(moves(true)).toEqual([[5, ['Female', 'Male']]]);
  expect(moves(false)).toEqual([]);
});
