/**
 * How many participants of each level are on each treatment. It reveals totals per arm, so it is for operators and
 * auditors.
 */
import type { Projection } from './projection.ts';

export interface Balance {
  readonly treatments: readonly string[];
  /** Participants on each treatment, in the order of `treatments`. */
  readonly totals: number[];
  readonly factors: readonly {
    readonly factor: string;
    readonly levels: readonly { readonly level: string; readonly counts: number[] }[];
  }[];
}

export const balance: Projection<Balance | undefined> = {
  name: 'balance',
  stream: 'study',
  initial: () => undefined,
  apply(state, event) {
    if (event.type === 'StudyRegistered') {
      const { treatments, factors } = event.data.configuration;
      const zeros = () => treatments.map(() => 0);
      return {
        treatments,
        totals: zeros(),
        factors: factors.map(({ name, levels }) => ({
          factor: name,
          levels: levels.map((level) => ({ level, counts: zeros() })),
        })),
      };
    }
    if (event.type !== 'ParticipantRandomized' || !state) return state;
    const arm = state.treatments.indexOf(event.sections.allocation.treatment);
    increment(state.totals, arm);
    event.data.levels.forEach(({ level }, i) => {
      const row = state.factors[i]?.levels.find((candidate) => candidate.level === level);
      if (row) increment(row.counts, arm);
    });
    return state;
  },
};

function increment(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}
