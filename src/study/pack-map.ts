/** The map of packs: which treatment each one holds, whether it is free, and how many are free. It names arms. */
import type { Level } from '../../events/study.ts';
import { levelNow } from '../../projections/design.ts';
import type { Model } from '../model/model.ts';
import { idByPack } from '../model/model.ts';
import { isFree, type Pack } from '../model/packs.ts';

export const PACK_STATES = ['free', 'given', 'withdrawn'] as const;

export interface MappedPack {
  readonly code: string;
  readonly treatment: string;
  /** Under its current name. */
  readonly where?: Level;
  readonly state: (typeof PACK_STATES)[number];
  /** The id, as randomized, of the participant who has or had it. */
  readonly participantId?: string;
}

/** How many packs of one treatment and level are free. */
export interface Stock {
  readonly treatment: string;
  readonly where?: Level;
  readonly free: number;
}

/** In the order of registration. @param isShown whether the pack is on the map; by default, all are */
export function packMap(
  state: Model,
  isShown: (pack: Pack, participantId: string | undefined) => boolean = () => true,
): MappedPack[] {
  const mapped: MappedPack[] = [];
  for (const [code, pack] of state.packs.entries()) {
    const participantId = idByPack(state, code);
    if (!isShown(pack, participantId)) continue;
    const where = whereNow(pack, state);
    mapped.push({
      ...{ code, treatment: pack.treatment, ...(where && { where }) },
      ...{ state: stateOf(state, code), ...(participantId !== undefined && { participantId }) },
    });
  }
  return mapped;
}

/** The level of the pack, under its current name. */
export function whereNow({ where }: Pick<Pack, 'where'>, { design }: Pick<Model, 'design'>) {
  const factor = design.factors.find(({ name }) => name === where?.factor);
  return where && factor ? { ...where, level: levelNow(factor, where.level) } : where;
}

function stateOf(state: Model, code: string): MappedPack['state'] {
  if (isFree(state, code)) return 'free';
  return state.withdrawn.get(code) ? 'withdrawn' : 'given';
}

/** In the order of the map. */
export function stockOf(packs: readonly MappedPack[]): Stock[] {
  const stock = new Map<string, Stock>();
  for (const { treatment, where, state } of packs) {
    const key = JSON.stringify([treatment, where?.factor, where?.level]);
    const { free } = stock.get(key) ?? { free: 0 };
    stock.set(key, { treatment, ...(where && { where }), free: free + Number(state === 'free') });
  }
  return [...stock.values()];
}
