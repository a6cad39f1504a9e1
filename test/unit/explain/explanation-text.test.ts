import { describe, expect, it } from 'vitest';
import { decodeRecord } from '../../../events/record.ts';
import { evolve, studyState } from '../../../src/core/study/state.ts';
import { explain, type RandomizedEvent } from '../../../src/evidence/explain/explain.ts';
import type { Explanation } from '../../../src/evidence/explain/explanation.ts';
import { explanationText } from '../../../src/evidence/explain/explanation-text.ts';
import { frozenSample } from '../../support/samples.ts';

function sample(): Explanation {
  const state = evolve(studyState.initial(), decodeRecord(frozenSample('StudyRegistered@1')));
  if (state.status === 'unregistered') throw new Error('the sample registers a study');
  return explain(state, decodeRecord(frozenSample('ParticipantRandomized@1')) as RandomizedEvent);
}

describe('the text of an explanation', () => {
  it('names the pack, if there is one', () => {
    const text = explanationText({ ...sample(), code: 'AF5-0017' });
    expect(text).toContain(
      '0 participants counted before. The pack was AF5-0017, which no random number chose.\n',
    );
  });

  it('is complete for the frozen sample', () => {
    expect(explanationText(sample())).toBe(`Why participant 001-0001 was assigned to MART
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
    const lines = explanationText({ ...sample(), agrees: false, differences }).split('\n');
    expect(lines[0]).toBe(
      'THE RECORD OF PARTICIPANT 001-0001 DIFFERS from what is worked out here: MART (see the end)',
    );
    expect(lines.slice(-3)).toEqual([
      '   treatment',
      '      recorded:    "RMC-A"',
      '      worked out:  "MART"',
    ]);
    expect(lines.join('\n')).not.toContain('was assigned to');
  });

  it('says that no lot was cast if there was one candidate, and names an urn that rounding left out', () => {
    const text = explanationText({
      ...sample(),
      lot: undefined,
      candidates: ['sex'],
      missed_by_rounding: ['local_site'],
    });
    expect(text).toContain('None was cast: sex is the only candidate.');
    expect(text).toContain('on paper these are equally imbalanced, too: local_site.');
  });

  it('contains nothing that a terminal obeys', () => {
    const text = explanationText({ ...sample(), user: 'a\u001b[2Jb\nc' });
    expect(text).toContain('by a [2Jb c, on');
    expect(text).not.toContain('\u001b');
  });
});
