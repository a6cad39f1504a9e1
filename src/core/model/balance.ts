/**
 * How many participants of each level are on each treatment. It reveals totals per arm, so it is for operators and
 * auditors.
 */
import { type Design, hasRatio, ratioOf } from './design.ts';
import { countedLevels, currentLevels, type Enrolled } from './participants.ts';

/** Kept up to date with every participant that comes or is corrected. */
export class Balance {
  readonly #shape: DesignShape;
  readonly #arms: ReadonlyMap<string, number>;
  readonly #randomized: ArmCounts;
  readonly #counted: ArmCounts;
  readonly #voided: number[];

  constructor(shape: DesignShape) {
    this.#shape = shape;
    this.#arms = indexes(shape.treatments);
    this.#randomized = new ArmCounts(shape);
    this.#counted = new ArmCounts(shape);
    this.#voided = shape.treatments.map(() => 0);
  }

  add(participant: OnTreatment): void {
    this.#count(participant, 1);
  }

  remove(participant: OnTreatment): void {
    this.#count(participant, -1);
  }

  replace(before: OnTreatment, after: OnTreatment): void {
    this.#count(before, -1);
    this.#count(after, 1);
  }

  view(): BalanceView {
    const { factors, treatments } = this.#shape;
    const counted = this.#counted.tally(factors);
    const ratio = hasRatio(this.#shape) ? { ratio: ratioOf(this.#shape) } : {};
    return { treatments, ...ratio, ...this.#randomized.tally(factors), counted, voided: this.#voided };
  }

  #count(participant: OnTreatment, by: number): void {
    const arm = this.#arms.get(participant.treatment);
    if (arm === undefined) return;
    this.#randomized.add(currentLevels(participant), arm, by);
    const counted = countedLevels(participant, this.#shape);
    if (counted) this.#counted.add(counted, arm, by);
    if (participant.corrected?.voided) addTo(this.#voided, arm, by);
  }
}

type DesignShape = Pick<Design, 'treatments' | 'slots' | 'factors' | 'epochBegan'>;
type OnTreatment = Enrolled & { readonly treatment: string };

/** Everybody who was randomized, at their current levels. */
export interface BalanceView extends Tally {
  readonly treatments: readonly string[];
  /** How many slots each treatment has in an urn; absent: one each. */
  readonly ratio?: readonly number[];
  /** What the urns hold. It differs where a correction changed their counts, or did not follow the levels. */
  readonly counted: Tally;
  /** How many of the participants are voided. */
  readonly voided: readonly number[];
}

/** Counts are in the order of the treatments. */
export interface Tally {
  readonly totals: readonly number[];
  readonly factors: readonly {
    readonly factor: string;
    readonly levels: readonly { readonly level: string; readonly counts: readonly number[] }[];
  }[];
}

/** Whether the urns count anything other than everybody at their current levels. */
export function urnsDiffer({ totals, factors, counted }: BalanceView): boolean {
  return JSON.stringify({ totals, factors }) !== JSON.stringify(counted);
}

class ArmCounts {
  readonly #totals: number[];
  /** By factor and level. */
  readonly #counts: readonly (readonly number[][])[];
  readonly #levels: readonly ReadonlyMap<string, number>[];

  constructor({ treatments, factors }: Pick<DesignShape, 'treatments' | 'factors'>) {
    const zeros = () => treatments.map(() => 0);
    this.#totals = zeros();
    this.#counts = factors.map(({ levels }) => levels.map(zeros));
    this.#levels = factors.map(({ levels }) => indexes(levels));
  }

  add(levels: readonly string[], arm: number, by: number): void {
    addTo(this.#totals, arm, by);
    levels.forEach((level, i) => {
      const row = this.#counts[i]?.[this.#levels[i]?.get(level) ?? -1];
      if (row) addTo(row, arm, by);
    });
  }

  tally(factors: DesignShape['factors']): Tally {
    return {
      totals: this.#totals,
      factors: factors.map(({ name, levels }, i) => ({
        factor: name,
        levels: levels.map((level, j) => ({ level, counts: this.#counts[i]?.[j] ?? [] })),
      })),
    };
  }
}

function indexes(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name, i) => [name, i]));
}

function addTo(counts: number[], index: number, by: number): void {
  counts[index] = (counts[index] ?? 0) + by;
}
