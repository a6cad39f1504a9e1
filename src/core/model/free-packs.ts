/** The packs that nobody has, kept by the level they are for, so that no decision looks through every pack ever registered. */
import type { Level } from '../../../events/study.ts';
import { type Design, levelNow } from './design.ts';

/** A pack on a list. */
export interface Pack {
  readonly code: string;
  readonly treatment: string;
  /** Only participants with this level get it. The level has the name of that time. */
  readonly where?: Level | undefined;
  /** What is hashed to choose among packs: the key of its list, the same object for all of them, and the code. */
  readonly keyBytes: Buffer;
  readonly codeBytes: Buffer;
}

type Factors = Pick<Design, 'factors'>;

/** The place of the packs for all participants. */
const EVERYWHERE = '';
/** Of packs for a level that the study does not have. */
const NOWHERE = 'nowhere';

/** It is forked by copying the lists' places. The lists themselves are never changed. */
export class FreePacks {
  readonly #lists: Map<string, readonly Pack[]>;

  constructor(lists: Iterable<readonly [string, readonly Pack[]]> = []) {
    this.#lists = new Map(lists);
  }

  /** @param where of all of them */
  add(packs: readonly Pack[], where: Pack['where'], design: Factors): void {
    const place = placeOf(where, design);
    this.#lists.set(place, [...(this.#lists.get(place) ?? []), ...packs]);
  }

  /** Takes the same time whichever arm the pack is of, and wherever it stands on its list. */
  take(pack: Pack, design: Factors): void {
    const place = placeOf(pack.where, design);
    const left = this.#lists.get(place)?.filter((one) => one !== pack);
    if (left) this.#lists.set(place, left);
  }

  /** Those that a participant with these levels can get, of every arm. */
  for(levels: readonly string[], { factors }: Factors): readonly Pack[] {
    const places = levels.map((level, i) => placeAt(i, factors[i]?.levels.indexOf(level)));
    const [first = [], ...others] = [EVERYWHERE, ...places].flatMap((place) => {
      const list = place === NOWHERE ? [] : (this.#lists.get(place) ?? []);
      return list.length > 0 ? [list] : [];
    });
    return others.length === 0 ? first : first.concat(...others);
  }

  fork(): FreePacks {
    return new FreePacks(this.#lists);
  }
}

/** Where the packs of a level are kept. A level keeps its index when it is renamed. */
function placeOf(where: Pack['where'], { factors }: Factors): string {
  if (!where) return EVERYWHERE;
  const index = factors.findIndex(({ name }) => name === where.factor);
  const factor = factors[index];
  return placeAt(index, factor?.levels.indexOf(levelNow(factor, where.level)));
}

function placeAt(factor: number, level = -1): string {
  return level < 0 ? NOWHERE : `${factor}.${level}`;
}
