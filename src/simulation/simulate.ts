/** Simulates a study's design, and others on the same participants. */
import type { SimulationPlan } from './plan.ts';
import type { DesignResult } from './result.ts';

export interface SimulationOptions {
  /** By default, as many as the machine has. They do not change the result. */
  readonly threads?: number | undefined;
  /** Gets the number of replicates that are done. */
  readonly onProgress?: ((replicates: number) => void) | undefined;
  readonly stop?: AbortSignal | undefined;
}

/**
 * @returns first the study's own design, then the comparators in their order
 * @throws what a thread throws; the reason of `stop`
 */
export async function simulate(
  _plan: SimulationPlan,
  _options: SimulationOptions = {},
): Promise<DesignResult[]> {
  throw new Error('not built yet');
}
