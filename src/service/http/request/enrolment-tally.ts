/** How a study has grown: counts of participants over time, by level and by treatment, for charts. */
import type { Design } from '../../../core/model/design.ts';
import type { Participant } from '../../../core/model/participants.ts';
import {
  currentLevels,
  type Enrolled,
  type HeadCount,
  HeadCounter,
} from '../../../core/model/participants.ts';

/** A chart shows no more than this many points. */
export const MAX_POINTS = 200;

/** The counts of some participants. */
export interface Count extends HeadCount {
  /** How many have each treatment, in the order of the design. */
  readonly byTreatment: readonly number[];
}

export interface EnrolmentTally extends Count {
  readonly treatments: readonly string[];
  /** Each counts the participants up to that one, in the order of randomization. */
  readonly points: readonly (Count & Pick<Participant, 'sequence' | 'at'>)[];
  /** At current levels, in the order of the design. */
  readonly levels: readonly (Count & { readonly factor: string; readonly level: string })[];
}

/** Voided participants are counted, since the list shows them. @param known those of whom the key may know */
export function tallied(inForce: Design, known: readonly Participant[]): EnrolmentTally {
  const points = new Set(evenlySpaced(known.length, MAX_POINTS));
  const tally = new Tally(inForce);
  for (const [i, participant] of known.entries()) tally.add(participant, points.has(i));
  return tally.result();
}

/** At most `most` indexes of a list, with the first and the last one. */
export function evenlySpaced(length: number, most: number): number[] {
  if (length <= most) return Array.from({ length }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.round((i * (length - 1)) / (most - 1)));
}

/** A `Count` while it grows. */
class Counter {
  readonly #heads = new HeadCounter();
  readonly byTreatment: number[];

  constructor(treatments: number) {
    this.byTreatment = Array<number>(treatments).fill(0);
  }

  add(participant: Enrolled, treatment: number): void {
    this.#heads.add(participant);
    this.byTreatment[treatment] = (this.byTreatment[treatment] ?? 0) + 1;
  }

  now(): Count {
    return { ...this.#heads.now(), byTreatment: this.byTreatment.slice() };
  }
}

class Tally {
  readonly #treatments: readonly string[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #all: Counter;
  readonly #points: EnrolmentTally['points'][number][] = [];
  /** For each factor, by level. */
  readonly #factors: readonly { readonly name: string; readonly levels: ReadonlyMap<string, Counter> }[];

  constructor({ treatments, factors }: Design) {
    this.#treatments = treatments;
    this.#indexes = new Map(treatments.map((treatment, i) => [treatment, i]));
    this.#all = new Counter(treatments.length);
    this.#factors = factors.map(({ name, levels }) => ({
      name,
      levels: new Map(levels.map((level) => [level, new Counter(treatments.length)])),
    }));
  }

  add(participant: Participant, isPoint: boolean): void {
    const treatment = this.#indexes.get(participant.treatment);
    if (treatment === undefined)
      throw new Error('a participant with a treatment that the design does not have');
    this.#all.add(participant, treatment);
    // Participants who came after a factor was retired have no level of it.
    for (const [i, level] of currentLevels(participant).entries())
      this.#factors[i]?.levels.get(level)?.add(participant, treatment);
    const { sequence, at } = participant;
    if (isPoint) this.#points.push({ sequence, at, ...this.#all.now() });
  }

  result(): EnrolmentTally {
    const levels = this.#factors.flatMap(({ name, levels: counters }) =>
      [...counters].map(([level, counter]) => ({ factor: name, level, ...counter.now() })),
    );
    return { treatments: this.#treatments, ...this.#all.now(), points: this.#points, levels };
  }
}
