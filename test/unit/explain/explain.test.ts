import { describe, expect, it } from 'vitest';
import { decodeRecord } from '../../../events/record.ts';
import { RecordError } from '../../../events/record-error.ts';
import type { BgState } from '../../../events/study.ts';
import type { Model } from '../../../src/core/model/model.ts';
import { decide } from '../../../src/core/study/decide.ts';
import { evolve, type StudyState, studyState } from '../../../src/core/study/state.ts';
import { explain, type RandomizedEvent } from '../../../src/evidence/explain/explain.ts';
import { Explanation, UrnExplanation } from '../../../src/evidence/explain/explanation.ts';
import { compareRationals, exactImbalance } from '../../support/exact.ts';
import { event, REGISTER, randomize } from '../../support/facts.ts';
import { frozenSample } from '../../support/samples.ts';
import { drawIn } from '../../support/urn-study.ts';
import { type ReferenceHistory, referenceHistories } from '../../support/vectors.ts';

function isRegistered(state: StudyState): asserts state is Model {
  if (state.status === 'unregistered') throw new Error('the study is not registered');
}

/** The study of the frozen samples before its first participant, and that participant's event. */
function sample(): { before: Model; event: RandomizedEvent } {
  const first = decodeRecord(frozenSample('StudyRegistered@1'));
  const before = evolve(studyState.initial(), first);
  isRegistered(before);
  return { before, event: decodeRecord(frozenSample('ParticipantRandomized@1')) as RandomizedEvent };
}

/** Every participant of a history, decided again, with what is explained of it before it is folded in. */
function explanations({ configuration, seed, participants }: ReferenceHistory): UrnExplanation[] {
  let state = studyState.initial();
  const take = (command: Parameters<typeof decide>[1], revision: number) => {
    const { fact } = decide(state, command);
    if (!fact) throw new Error('nothing was decided');
    const happened = event(fact, revision);
    const before = state;
    const explained =
      happened.type === 'ParticipantRandomized' && before.status !== 'unregistered'
        ? [UrnExplanation.parse(explain(before, happened))]
        : [];
    state = evolve(state, happened);
    return explained;
  };
  take({ ...REGISTER, configuration, seed, seedSource: 'configured' }, 0);
  return participants.flatMap(({ levelIndexes }, i) => {
    const levels = configuration.factors.map((factor, f) => factor.levels[levelIndexes[f] ?? -1] ?? '');
    return take(randomize(`${i}`, { levels }), i + 1);
  });
}

function withNumbers({ state: { inc, state }, ...rest }: BgState) {
  return { ...rest, state: { inc: BigInt(inc), state: BigInt(state) } };
}

describe('the explanation of the frozen sample', () => {
  const { before, event: first } = sample();

  it('gives every number', () => {
    const urn = { counts: [0, 0, 0], balls: [1, 1, 1], imbalance: 0, candidate: true };
    expect(explain(before, first)).toEqual({
      study: 'CHS JCOIN',
      on_behalf_of: 'Dr. Müller',
      id: '001-0001',
      revision: 1,
      at: '2026-02-21T08:15:44.120Z',
      user: 'site-11',
      earlier_participants: 0,
      D: 'chisquare',
      w: 1,
      alpha: 0,
      beta: 1,
      treatments: ['MART', 'RMC-Q', 'RMC-A'],
      urns: [
        { factor: 'sex', level: 'Female', ...urn, selected: true },
        { factor: 'local_site', level: '11-Cook County – Chicago', ...urn, selected: false },
        { factor: '10', level: 'new', ...urn, selected: false },
        { factor: '9', level: '≤ 1 year', ...urn, selected: false },
      ],
      corrections: [],
      candidates: ['10', '9', 'local_site', 'sex'],
      missed_by_rounding: [],
      lot: { below: 4, result: 3 },
      selected_factor: 'sex',
      uniform53: 469233380723001,
      uniform: 469233380723001 / 2 ** 53,
      probabilities: [1 / 3, 1 / 3, 1 / 3],
      cumulative: [1 / 3, 2 / 3, 1],
      trt: 'MART',
      bg_state_before: {
        bit_generator: 'PCG64',
        has_uint32: 0,
        state: {
          inc: 16456292381734637728927264204220755567n,
          state: 46589044076700962482701453278850284970n,
        },
        uinteger: 0,
      },
      bg_state_after: {
        bit_generator: 'PCG64',
        has_uint32: 1,
        state: {
          inc: 16456292381734637728927264204220755567n,
          state: 176901181998510727776765893136874373876n,
        },
        uinteger: 615364793,
      },
      agrees: true,
      differences: [],
    });
  });

  it('does not change the state, and is the same every time', () => {
    const once = explain(before, first);
    expect(explain(before, first)).toEqual(once);
    expect(sample().before).toEqual(before);
  });
});

describe('the explanation of the reference implementation’s histories', () => {
  const explained = referenceHistories().map((history) => ({
    ...{ history, explanations: explanations(history), name: history.configuration.name },
  }));

  it.each(explained)(
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
    const shown = explained.flatMap(({ explanations }) => explanations);
    const hit = shown.filter(({ missed_by_rounding }) => missed_by_rounding.length > 0);
    expect(hit).toHaveLength(14);
    for (const { D, urns, missed_by_rounding, candidates } of shown) {
      const selected = urns.find((urn) => urn.selected)?.balls ?? [];
      const equal = urns.filter(
        ({ balls }) => compareRationals(exactImbalance(D, balls), exactImbalance(D, selected)) === 0,
      );
      expect(missed_by_rounding).toEqual(
        equal.map(({ factor }) => factor).filter((factor) => !candidates.includes(factor)),
      );
    }
  });
});

describe('the explanation of a record that contradicts its history', () => {
  const { before, event: first } = sample();
  const { allocation } = first.sections;
  const draw = drawIn(first.sections);
  const withDraw = (changed: Partial<typeof draw>): RandomizedEvent => ({
    ...first,
    sections: { ...first.sections, draw: { ...draw, ...changed } },
  });
  const other = { ...draw.bgStateAfter, uinteger: 7 };

  it.each<[string, RandomizedEvent, string, string]>([
    [
      'treatment',
      { ...first, sections: { ...first.sections, allocation: { ...allocation, treatment: 'RMC-A' } } },
      '"RMC-A"',
      '"MART"',
    ],
    ['balls', withDraw({ balls: [1, 2, 1] }), '[1,2,1]', '[1,1,1]'],
    ['counts', withDraw({ counts: [0, 1, 0] }), '[0,1,0]', '[0,0,0]'],
    ['candidates', withDraw({ candidates: ['sex'] }), '["sex"]', '["10","9","local_site","sex"]'],
    ['selectedFactor', withDraw({ selectedFactor: '9' }), '"9"', '"sex"'],
    ['uniform53', withDraw({ uniform53: 1 }), '1', '469233380723001'],
  ])('reports %s', (field, doctored, recorded, recomputed) => {
    expect(explain(before, doctored).differences).toEqual([{ field, recorded, recomputed }]);
  });

  it.each(['bgStateBefore', 'bgStateAfter'])('reports %s', (field) => {
    expect(explain(before, withDraw({ [field]: other })).differences).toEqual([
      { field, recorded: expect.stringContaining('"uinteger":7'), recomputed: expect.any(String) },
    ]);
  });

  it('reports levels recorded under the names of other factors', () => {
    const [one, two, ...rest] = first.data.levels;
    const renamed = [
      { factor: two?.factor ?? '', level: one?.level ?? '' },
      { factor: one?.factor ?? '', level: two?.level ?? '' },
      ...rest,
    ];
    const doctored = { ...first, data: { ...first.data, levels: renamed } };
    expect(explain(before, doctored).differences.map(({ field }) => field)).toEqual(['levels']);
  });

  it('cannot be computed for levels that the study does not have', () => {
    const levels = first.data.levels.map((named) => ({ ...named, level: 'none' }));
    const doctored = { ...first, data: { ...first.data, levels } };
    expect(() => explain(before, doctored)).toThrow(RecordError);
    expect(() => explain(before, { ...first, data: { ...first.data, levels: levels.slice(1) } })).toThrow(
      /\/1: /,
    );
  });
});
