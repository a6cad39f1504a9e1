/** The participants of a replay, in few bytes each: their levels and revisions as numbers, their ids as digests. */
import type { StudyConfiguration } from '../../../events/study.ts';
import { ForkableMap } from '../../study/forkable-map.ts';
import type { Answered, Enrolled } from '../../study/life.ts';
import { DigestSet } from './digest-set.ts';

const FIRST_ROOM = 1024;

/** Takes 44 to 88 bytes for each participant, and 2 more for each factor. */
export class CompactParticipants extends ForkableMap<string, Enrolled> {
  readonly #factors: StudyConfiguration['factors'];
  /** The index of each level, per factor. */
  readonly #indexes: readonly ReadonlyMap<string, number>[];
  readonly #ids = new DigestSet();
  #size = 0;
  #revisions = new Uint32Array(FIRST_ROOM);
  #levels: Uint16Array;

  constructor({ factors }: Pick<StudyConfiguration, 'factors'>) {
    super();
    this.#factors = factors;
    this.#indexes = factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i])));
    this.#levels = new Uint16Array(FIRST_ROOM * factors.length);
  }

  override get(participantId: string): Enrolled | undefined {
    const number = this.#ids.numberOf(participantId);
    if (number === undefined) return undefined;
    const from = number * this.#factors.length;
    const levels = this.#factors.map(({ levels }, i) => levels[this.#levels[from + i] ?? 0] ?? '');
    return { participantId, levels, revision: this.#revisions[number] ?? 0 };
  }

  override set(participantId: string, { levels, revision }: Enrolled): void {
    if (this.#size === this.#revisions.length) this.#grow();
    this.#ids.add(participantId);
    this.#revisions[this.#size] = revision;
    const from = this.#size * this.#factors.length;
    levels.forEach((level, i) => {
      this.#levels[from + i] = this.#indexes[i]?.get(level) ?? 0;
    });
    this.#size++;
  }

  #grow(): void {
    const revisions = new Uint32Array(this.#revisions.length * 2);
    revisions.set(this.#revisions);
    this.#revisions = revisions;
    const levels = new Uint16Array(this.#levels.length * 2);
    levels.set(this.#levels);
    this.#levels = levels;
  }
}

const SOME_REQUEST: Answered = { revision: -1 };

/** Remembers only which idempotency keys were used. A replay finds no request repeated, so it needs no more. */
export class CompactRequests extends ForkableMap<string, Answered> {
  readonly #keys = new DigestSet();

  override get(key: string): Answered | undefined {
    return this.#keys.has(key) ? SOME_REQUEST : undefined;
  }

  override set(key: string): void {
    this.#keys.add(key);
  }
}
