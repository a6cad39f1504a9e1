import type { Design, Renaming } from '../../projections/design.ts';
import { underNewNames } from '../../projections/enrolled.ts';
import { ForkableMap } from './forkable-map.ts';
import type { Allocated } from './life.ts';

/** The participants of a study, by the id as randomized. */
export class Enrolment extends ForkableMap<string, Allocated> {
  /** An amendment renames levels, or adds some. */
  amend(_after: Pick<Design, 'factors'>, renamings: readonly Renaming[]): void {
    if (renamings.length === 0) return;
    for (const [id, participant] of [...this.entries()]) {
      const renamed = underNewNames(participant, renamings);
      if (renamed !== participant) this.set(id, renamed);
    }
  }

  /** The map must not be changed while they are read. */
  *all(): Iterable<Allocated> {
    for (const [, participant] of this.entries()) yield participant;
  }

  override emptied(): Enrolment {
    return new Enrolment();
  }

  override fork(): Enrolment {
    return new Enrolment(this);
  }
}
