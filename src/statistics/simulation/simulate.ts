/**
 * Simulates a study's design, and others on the same participants, in threads. It does so block by block: a block does not
 * depend on the blocks before it, so threads can share them out. simulation-thread.ts loads this file as well.
 */
import { runBlocks, threadFile } from '../../base/threads.ts';
import { Pcg64 } from '../../core/random/pcg64.ts';
import { type LevelSource, levelSource, Strata } from './arrivals.ts';
import { Covariates } from './covariates.ts';
import { type Comparator, ownDesign, type SimulatedDesign, type SimulationPlan } from './plan.ts';
import { type Participants, type Rule, ruleOf } from './rules.ts';
import { type DesignResult, Summary } from './summary.ts';
import { type BlockTally, Tally } from './tally.ts';

interface SimulationOptions {
  /** By default, as many as the machine has. They do not change the result. */
  readonly threads?: number | undefined;
  /** Gets the number of replicates that are done. */
  readonly onProgress?: ((replicates: number) => void) | undefined;
}

/** Replicates of a block. Sums of doubles depend on it. */
const BLOCK_REPLICATES = 100;

/**
 * @returns first the study's own design, then the comparators in their order
 * @throws what a thread throws
 */
export async function simulate(
  plan: SimulationPlan,
  { threads, onProgress }: SimulationOptions = {},
): Promise<DesignResult[]> {
  const summaries = new Summaries(plan);
  let added = 0;
  await runBlocks<readonly BlockTally[]>({
    file: threadFile('simulation-thread'),
    workerData: plan,
    blocks: Math.ceil(plan.reps / BLOCK_REPLICATES),
    threads,
    onBlock(tallies) {
      summaries.add(tallies);
      added++;
      onProgress?.(Math.min(plan.reps, added * BLOCK_REPLICATES));
    },
  });
  return summaries.results();
}

/** Like `simulate`, in this thread. */
export function simulateHere(plan: SimulationPlan): DesignResult[] {
  const simulation = new BlockSimulation(plan);
  const summaries = new Summaries(plan);
  for (let block = 0; block * BLOCK_REPLICATES < plan.reps; block++) summaries.add(simulation.run(block));
  return summaries.results();
}

/** Above all seeds of arms. */
const LEVELS_SEED = 1n << 127n;

export class BlockSimulation {
  readonly #plan: SimulationPlan;
  readonly #source: LevelSource;
  readonly #participants: SimulatedParticipants;
  readonly #covariates: Covariates;
  readonly #designs: readonly { readonly rule: Rule; readonly tally: Tally }[];

  constructor(plan: SimulationPlan) {
    const { design, participants, at, arrivals } = plan;
    this.#plan = plan;
    this.#source = levelSource(arrivals, participants);
    this.#participants = new SimulatedParticipants(design.factors, participants);
    this.#covariates = new Covariates(design.factors, design.ratio, at);
    this.#designs = designsOf(plan).map((one) => ({
      rule: ruleOf(one, design.ratio, this.#participants),
      tally: new Tally(plan, this.#participants, this.#covariates, urnFactors(one, design)),
    }));
  }

  /** @returns the tally of each design */
  run(block: number): BlockTally[] {
    const { reps, seed } = this.#plan;
    const first = block * BLOCK_REPLICATES;
    const end = Math.min(reps, first + BLOCK_REPLICATES);
    for (const { tally } of this.#designs) tally.begin(end - first);
    for (let replicate = first; replicate < end; replicate++) {
      const armsSeed = (seed << 64n) + BigInt(replicate);
      this.#source.fill(Pcg64.fromSeed(LEVELS_SEED + armsSeed), this.#participants.levels);
      this.#participants.assignStrata();
      this.#covariates.prepare(this.#participants.levels);
      for (const { rule, tally } of this.#designs) this.#runDesign(rule, tally, Pcg64.fromSeed(armsSeed));
    }
    return this.#designs.map(({ tally }) => tally.finish());
  }

  #runDesign(rule: Rule, tally: Tally, generator: Pcg64): void {
    rule.restart();
    tally.beginReplicate();
    for (let participant = 0; participant < this.#plan.participants; participant++)
      tally.note(participant, rule.allocate(participant, generator), rule);
    tally.endReplicate();
  }
}

class SimulatedParticipants implements Participants {
  readonly levels: Int32Array;
  readonly factors: SimulatedDesign['factors'];
  readonly #participants: number;
  readonly #strata = new Map<string, Strata>();

  constructor(factors: SimulatedDesign['factors'], participants: number) {
    this.factors = factors;
    this.#participants = participants;
    this.levels = new Int32Array(participants * factors.length);
  }

  strata(within: readonly number[]): Int32Array {
    const key = within.join();
    const strata = this.#strata.get(key) ?? new Strata(this.factors, within, this.#participants);
    this.#strata.set(key, strata);
    return strata.of;
  }

  /** To be called when the levels are known. */
  assignStrata(): void {
    for (const strata of this.#strata.values()) strata.assign(this.levels);
  }
}

/** Adds the blocks of all designs. */
class Summaries {
  readonly #designs: readonly { readonly name: string; readonly summary: Summary }[];

  constructor(plan: SimulationPlan) {
    const { factors } = plan.design;
    this.#designs = designsOf(plan).map((one) => ({
      name: one.name,
      summary: new Summary(
        plan,
        urnFactors(one, plan.design).map((factor) => factors[factor]?.name ?? ''),
      ),
    }));
  }

  /** In the order of the blocks. */
  add(tallies: readonly BlockTally[]): void {
    this.#designs.forEach(({ summary }, i) => {
      summary.add(tallies[i] as BlockTally);
    });
  }

  results(): DesignResult[] {
    return this.#designs.map(({ name, summary }) => summary.result(name));
  }
}

/** The study's own design, described like a comparator, and then the comparators. */
function designsOf({ design, comparators }: SimulationPlan): readonly Comparator[] {
  return [ownDesign(design), ...comparators];
}

/** Indexes of the factors among whose urns a design draws; none if there is no choice. */
function urnFactors({ rule, within }: Comparator, { factors }: SimulatedDesign): readonly number[] {
  if (rule.kind !== 'urn') return [];
  const used = within.length > 0 ? within : [...factors.keys()];
  return used.length > 1 ? used : [];
}
