/**
 * The participants of a replay, in few bytes each: their levels, slots and revisions as numbers, their ids as digests. The
 * few who are corrected, or were entered by hand, are kept whole.
 */
import type { Design, Renaming } from '../../../projections/design.ts';
import { type GivenPack, NONE, underNewNames } from '../../../projections/enrolled.ts';
import { Enrolment } from '../../study/enrolment.ts';
import { ForkableMap } from '../../study/forkable-map.ts';
import type { Allocated, Answered } from '../../study/life.ts';
import { DigestSet } from './digest-set.ts';

const FIRST_ROOM = 1024;
/** Of a factor that was retired before. */
const NO_INDEX = 0xffff;

/** Takes 46 to 92 bytes for each participant, 2 more for each factor, and some 100 more for a pack. */
export class CompactParticipants extends Enrolment {
  #factors: Design['factors'] = [];
  /** The index of each level, per factor. */
  #indexes: readonly ReadonlyMap<string, number>[] = [];
  readonly #ids = new DigestSet();
  #size = 0;
  #revisions = new Uint32Array(FIRST_ROOM);
  #levels: Uint16Array;
  #slots = new Int16Array(FIRST_ROOM);
  /** By number, of studies with packs. */
  readonly #packs = new Map<number, GivenPack>();
  /** By number. */
  readonly #whole = new Map<number, Allocated>();

  constructor({ factors }: Pick<Design, 'factors'>) {
    super();
    this.#name(factors);
    this.#levels = new Uint16Array(FIRST_ROOM * factors.length);
  }

  #name(factors: Design['factors']): void {
    this.#factors = factors;
    this.#indexes = factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i])));
  }

  /** Levels keep their indexes, so only the participants who are kept whole have names to change. */
  override amend({ factors }: Pick<Design, 'factors'>, renamings: readonly Renaming[]): void {
    this.#name(factors);
    for (const [number, participant] of this.#whole)
      this.#whole.set(number, underNewNames(participant, renamings));
  }

  override isEmpty(): boolean {
    return this.#size === 0;
  }

  override emptied(): CompactParticipants {
    return new CompactParticipants({ factors: this.#factors });
  }

  override get(participantId: string): Allocated | undefined {
    const number = this.#ids.numberOf(participantId);
    if (number === undefined) return undefined;
    return this.#whole.get(number) ?? this.#at(number, participantId);
  }

  /** Those who are not kept whole are yielded without their ids, which are digests here. */
  override *all(): Iterable<Allocated> {
    for (let number = 0; number < this.#size; number++) yield this.#whole.get(number) ?? this.#at(number, '');
  }

  #at(number: number, participantId: string): Allocated {
    const from = number * this.#factors.length;
    const levels = this.#factors.map(({ levels }, i) => levels[this.#levels[from + i] ?? NO_INDEX] ?? NONE);
    const [revision, slot] = [this.#revisions[number] ?? 0, this.#slots[number] ?? -1];
    const pack = this.#packs.get(number);
    return { participantId, levels, revision, slot, ...(pack && { pack }) };
  }

  override set(participantId: string, participant: Allocated): void {
    const known = this.#ids.numberOf(participantId);
    if (known !== undefined) {
      this.#whole.set(known, participant);
      return;
    }
    const { levels, revision, slot } = participant;
    if (participant.pack) this.#packs.set(this.#size, participant.pack);
    if (participant.forced) this.#whole.set(this.#size, participant);
    if (this.#size === this.#revisions.length) this.#grow();
    this.#ids.add(participantId);
    this.#revisions[this.#size] = revision;
    this.#slots[this.#size] = slot;
    const from = this.#size * this.#factors.length;
    levels.forEach((level, i) => {
      this.#levels[from + i] = this.#indexes[i]?.get(level) ?? NO_INDEX;
    });
    this.#size++;
  }

  #grow(): void {
    this.#revisions = twiceAsLong(this.#revisions);
    this.#levels = twiceAsLong(this.#levels);
    this.#slots = twiceAsLong(this.#slots);
  }
}

function twiceAsLong<A extends Uint32Array | Uint16Array | Int16Array>(array: A): A {
  const longer = new (array.constructor as new (length: number) => A)(array.length * 2);
  longer.set(array);
  return longer;
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
