import { describe, expect, it } from 'vitest';
import { exactResults } from '../../support/client.ts';
import { served } from '../../support/served.ts';
import { type ReferenceHistory, referenceHistories } from '../../support/vectors.ts';

const histories = referenceHistories();
/** JSON is YAML; the seeds are small enough for it. */
const studies = JSON.stringify(
  Object.fromEntries(
    histories.map(({ configuration: { name, treatments, D, w, alpha, beta, factors }, seed }) => [
      name,
      {
        mode: 'test',
        starting_seed: Number(seed),
        ...{ treatments, D, w, alpha, beta },
        factors: Object.fromEntries(factors.map((factor) => [factor.name, factor.levels])),
      },
    ]),
  ),
);

const SCOPES = ['--scope', 'read,randomize,audit', '--allow-prediction'];
const http = served(studies, { key: ['replay', ...SCOPES] });

type Participant = ReferenceHistory['participants'][number];

function recordOf(
  { configuration }: ReferenceHistory,
  { levelIndexes, treatment, bgStateAfter }: Participant,
) {
  const levels = configuration.factors.map(({ name, levels }, i) => [
    name,
    levels[levelIndexes[i] ?? -1] ?? '',
  ]);
  const { state, ...rest } = bgStateAfter;
  return {
    levels: Object.fromEntries(levels) as Record<string, string>,
    shown: {
      ...Object.fromEntries(levels.map(([name, level]) => [`f_${name}`, level])),
      trt: treatment,
      user: 'replay',
      bg_state: { ...rest, state: { state: BigInt(state.state), inc: BigInt(state.inc) } },
    },
  };
}

describe('the service repeats the reference implementation over HTTP, participant by participant', () => {
  it.concurrent.each(histories)('in $configuration.name', async (history) => {
    const { randomize, list } = http.as('key');
    const { name } = history.configuration;
    const expected = [];
    for (const [i, participant] of history.participants.entries()) {
      const { levels, shown } = recordOf(history, participant);
      const answer = await randomize(name, String(i), levels);
      expect(answer.status, answer.text).toBe(200);
      expected.push({ id: String(i), datetime: expect.any(String), ...shown });
      expect(exactResults(answer)).toEqual([expected.at(-1)]);
    }
    expect(exactResults(await list(name))).toEqual(expected);
  });

  it('for 2,100 participants in all', () => {
    expect(histories.reduce((sum, { participants }) => sum + participants.length, 0)).toBe(2100);
  });
});
