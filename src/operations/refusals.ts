/**
 * Refused requests, counted so that nobody can fill the disk with them: what is repeated is summed up each minute, and
 * a key that is refused in ever new ways gets a bounded number of events an hour. Beyond it, its refusals are one sum
 * that does not tell them apart. No refusal is left uncounted.
 */
import type { RefusalReason } from '../../events/operations.ts';
import type { Actor } from '../../events/record.ts';
import { type Occurred, Repetitions, type Tally } from './repetitions.ts';

/** Who asked with a key. */
export type KeyActor = Extract<Actor, { keyId: string }>;

/** What a refusal says besides its number. */
export interface Refused {
  readonly operation?: string;
  readonly study?: string;
  readonly reason: RefusalReason;
}

export interface RefusedBy {
  readonly actor: KeyActor;
  readonly said: Refused;
}

const HOUR_MS = 3_600_000;
export const WINDOW_MS = 60_000;
const SEVERAL_WINDOW_MS = 600_000;
/** Events that tell refusals apart, for each key in an hour. */
export const EVENTS_AN_HOUR = 120;

export class Refusals {
  readonly #apart = new Repetitions<RefusedBy>(WINDOW_MS);
  readonly #several = new Repetitions<RefusedBy>(SEVERAL_WINDOW_MS);
  /** By key: since when its hour runs, and the events of that hour. */
  readonly #spent = new Map<string, { readonly since: number; events: number }>();

  /** @returns what to write now */
  note(actor: KeyActor, said: Refused, tally: Tally, ms: number): Occurred<RefusedBy>[] {
    const { operation, study, reason } = said;
    const kind = JSON.stringify([actor.keyId, operation, study, reason]);
    const occurred = { kind, what: { actor, said }, tally };
    const isNew = !this.#apart.has(kind);
    if (isNew && !this.#spend(actor.keyId, ms)) return this.#noteSeveral(occurred, ms);
    return listed(this.#apart.note(occurred, ms));
  }

  /** What to write now: the sums of windows that have ended. */
  due(ms: number): Occurred<RefusedBy>[] {
    for (const [keyId, { since }] of this.#spent) if (ms - since >= HOUR_MS) this.#spent.delete(keyId);
    const apart = this.#apart.due(ms).flatMap((sum) => this.#allowed(sum, ms));
    return [...apart, ...this.#several.due(ms)];
  }

  /** All sums that are not written yet. */
  all(ms: number): Occurred<RefusedBy>[] {
    const apart = this.#apart.all().flatMap((sum) => this.#allowed(sum, ms));
    return [...apart, ...this.#several.all()];
  }

  /** Takes back what could not be written. */
  giveBack(occurred: Occurred<RefusedBy>, ms: number): void {
    const { actor, said } = occurred.what;
    if (said.reason === 'several') {
      this.#several.giveBack(occurred, ms);
      return;
    }
    this.#apart.giveBack(occurred, ms);
    const spent = this.#spent.get(actor.keyId);
    if (spent) spent.events--;
  }

  #allowed(sum: Occurred<RefusedBy>, ms: number): Occurred<RefusedBy>[] {
    return this.#spend(sum.what.actor.keyId, ms) ? [sum] : this.#noteSeveral(sum, ms);
  }

  #noteSeveral({ what, tally }: Occurred<RefusedBy>, ms: number): Occurred<RefusedBy>[] {
    const { actor } = what;
    const several: RefusedBy = { actor, said: { reason: 'several' } };
    return listed(this.#several.note({ kind: actor.keyId, what: several, tally }, ms));
  }

  /** Whether the key may have another event in this hour. */
  #spend(keyId: string, ms: number): boolean {
    const spent = this.#spent.get(keyId);
    if (!spent || ms - spent.since >= HOUR_MS) this.#spent.set(keyId, { since: ms, events: 1 });
    else if (spent.events >= EVENTS_AN_HOUR) return false;
    else spent.events++;
    return true;
  }
}

function listed<T>(occurred: T | undefined): T[] {
  return occurred === undefined ? [] : [occurred];
}
