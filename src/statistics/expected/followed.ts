/** The steps of one study, made from its events as they come. */
import type { LogEvent } from '../../../events/record.ts';
import type { Projection } from '../../../projections/runner.ts';
import { holdsSeed } from '../replicate/replicate.ts';
import { designStep, type Step, StudySteps } from '../replicate/steps.ts';

export class FollowedStudy {
  readonly #steps = new StudySteps();
  /** The study's own seeds: from its registration, and from where its generator began anew. */
  readonly #seeds: bigint[] = [];
  #new: Step[] = [];
  #beginsAnew = true;
  #revision = -1;

  /** Revision of the last event. */
  get revision(): number {
    return this.#revision;
  }

  get participants(): number {
    return this.#steps.participants;
  }

  take(event: LogEvent): void {
    this.#revision = event.revision;
    const seed = seedIn(event);
    if (seed !== undefined) this.#seeds.push(BigInt(seed));
    const steps = this.#steps.after(event);
    if (steps !== 'emptied') {
      this.#new.push(...steps);
      return;
    }
    const { model } = this.#steps;
    this.#new = model ? [designStep(model, false)] : [];
    this.#beginsAnew = true;
  }

  /** The steps since the last call, and whether the earlier ones are void. */
  takeSteps(): { readonly steps: readonly Step[]; readonly beginsAnew: boolean } {
    const taken = { steps: this.#new, beginsAnew: this.#beginsAnew };
    this.#new = [];
    this.#beginsAnew = false;
    return taken;
  }

  /** Whether a replicate would use the seed of the study itself, and therefore have its arms. */
  sharesSeed(seed: number, reps: number): boolean {
    return this.#seeds.some((own) => holdsSeed(seed, reps, own));
  }
}

function seedIn(event: LogEvent): string | undefined {
  switch (event.type) {
    case 'StudyRegistered':
    case 'StudyRecovered':
    case 'HistoryImported':
      return event.sections.generator.seed;
    default:
      return undefined;
  }
}

export const followedStudy: Projection<FollowedStudy> = {
  name: 'followed-study',
  stream: 'study',
  initial: () => new FollowedStudy(),
  apply(followed, event) {
    followed.take(event);
    return followed;
  },
};
