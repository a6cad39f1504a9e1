/** What a re-randomization test runs again. A plan can be sent to a thread. */
import { Setting } from '../replicate/replicate.ts';
import type { DesignStep, DrawStep, Step } from '../replicate/steps.ts';
import type { Statistic } from './statistic.ts';

export interface Plan {
  readonly steps: readonly Step[];
  /** Arms, as indexes in the treatments of the study, in their order. */
  readonly compared: readonly number[];
  /**
   * Whether the study has other arms, whose participants keep them. Then the other participants are drawn only from the arms
   * that are compared, and replicates have weights.
   */
  readonly hasOthers: boolean;
  /** The persons with an outcome, on the arms that are compared, in the order of the scores. */
  readonly analysed: Int32Array;
  /** For every person: the arm as recorded. */
  readonly recorded: Int8Array;
  readonly statistic: Statistic;
}

export type PeopleStep = Exclude<Step, DesignStep>;

/** The steps, with the settings that all replicates share. */
export type PreparedSteps = readonly (Setting | PeopleStep)[];

export function prepared(steps: readonly Step[]): PreparedSteps {
  let setting: Setting | undefined;
  return steps.map((step) => {
    if (step.kind !== 'design') return step;
    setting = new Setting(step, setting);
    return setting;
  });
}

type TalliedPlan = Pick<Plan, 'analysed' | 'statistic' | 'compared' | 'recorded' | 'hasOthers'>;

/** Numbers and sums of the analysed participants, by arm compared. */
export class Tally {
  readonly #plan: TalliedPlan;
  /** The place of each arm among those compared; -1 for any other. */
  readonly #places: Int8Array;
  readonly numbers: Float64Array;
  readonly sums: Float64Array;

  constructor(plan: TalliedPlan) {
    const { compared } = plan;
    this.#plan = plan;
    this.#places = new Int8Array(Math.max(...compared) + 1).fill(-1);
    compared.forEach((arm, place) => {
      this.#places[arm] = place;
    });
    this.numbers = new Float64Array(compared.length);
    this.sums = new Float64Array(compared.length);
  }

  /** The place of an arm among those compared; -1 for any other. */
  place(arm: number): number {
    return this.#places[arm] ?? -1;
  }

  /** Whether the person is on an arm that is compared: in the study, and therefore in every replicate. */
  isCompared(person: number): boolean {
    return this.place(this.#plan.recorded[person] as number) >= 0;
  }

  /**
   * If participants on other arms keep them, sets the probability of every slot that the person cannot get to 0.
   * @param chances the probabilities of the slots that can be drawn
   * @param slots their indexes in all slots
   */
  keepPossible(
    chances: Float64Array,
    slots: ArrayLike<number>,
    { person, slot }: DrawStep,
    { design }: Setting,
  ): void {
    if (!this.#plan.hasOthers) return;
    const isCompared = this.isCompared(person);
    const { arms } = design;
    for (let i = 0; i < chances.length; i++) {
      const one = slots[i] as number;
      const isPossible = isCompared ? this.place(arms[one] as number) >= 0 : one === slot;
      if (!isPossible) chances[i] = 0;
    }
  }

  /** @returns whether no arm is empty */
  count(armOf: (person: number) => number): boolean {
    const { numbers, sums } = this;
    const { analysed, statistic } = this.#plan;
    const { scores } = statistic;
    numbers.fill(0);
    sums.fill(0);
    for (let i = 0; i < analysed.length; i++) {
      const place = this.#places[armOf(analysed[i] as number)] as number;
      numbers[place] = (numbers[place] as number) + 1;
      sums[place] = (sums[place] as number) + (scores[i] as number);
    }
    return !numbers.includes(0);
  }
}
