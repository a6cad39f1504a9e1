/** The map of packs: which treatment each one holds, whether it is free, and how many are free. It names arms. */
import type { Level } from '../../../events/study.ts';
import { PACK_MARGIN } from '../acts/packs.ts';
import { levelNow } from '../model/design.ts';
import type { Model } from '../model/model.ts';
import { idByPack, isFree, type Pack } from '../model/packs.ts';
import { currentLevels, getsPacks, presentPacks } from '../model/participants.ts';

export const PACK_STATES = ['free', 'given', 'withdrawn'] as const;

interface MappedPack {
  readonly code: string;
  readonly treatment: string;
  /** Under its current name. */
  readonly where?: Level;
  readonly state: (typeof PACK_STATES)[number];
  /** The id, as randomized, of the participant who has or had it. */
  readonly participantId?: string;
  /** For which the participant has it. */
  readonly visit?: string;
}

/** How many packs of one treatment and level are free. */
interface Stock {
  readonly treatment: string;
  readonly where?: Level;
  readonly free: number;
  /** Whether so few are free that sites may be refused before everybody who gets such packs got another one. */
  readonly low?: true;
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
    const visit = participantId === undefined ? undefined : visitOf(state, participantId, code);
    mapped.push({
      ...{ code, treatment: pack.treatment, ...(where && { where }) },
      ...{ state: stateOf(state, code), ...(participantId !== undefined && { participantId }) },
      ...(visit !== undefined && { visit }),
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

/** Undefined for a pack of the enrolment, and for one that was replaced. */
function visitOf({ participants }: Model, participantId: string, code: string): string | undefined {
  const holder = participants.get(participantId);
  return holder && presentPacks(holder).find((pack) => pack.code === code)?.visit;
}

/** In the order of the map. @param packs on the map */
export function stockOf(state: Model, packs: readonly MappedPack[]): Stock[] {
  const stock = new Map<string, Stock>();
  for (const { treatment, where, state: now } of packs) {
    const key = placeOf(treatment, where);
    const { free } = stock.get(key) ?? { free: 0 };
    stock.set(key, { treatment, ...(where && { where }), free: free + Number(now === 'free') });
  }
  return state.hasVisits ? withLow(state, stock) : [...stock.values()];
}

/** The packs of an arm that are for one level, or for everybody. */
function placeOf(treatment: string, where: Level | undefined): string {
  return JSON.stringify([treatment, where?.factor, where?.level]);
}

/** A stopped arm needs no packs. */
function withLow(state: Model, stock: ReadonlyMap<string, Stock>): Stock[] {
  const patients = patientsOf(state, new Set([...stock.values()].map(({ where }) => where?.factor)));
  return [...stock].map(([key, row]) => {
    const isNeeded = !state.design.stoppedTreatments.includes(row.treatment);
    const isLow = isNeeded && row.free < PACK_MARGIN + (patients.get(key) ?? 0);
    return isLow ? { ...row, low: true } : row;
  });
}

/**
 * How many participants may get such packs, by the place of the packs.
 * @param factors of whose levels there are packs; undefined: of packs for everybody
 */
function patientsOf(
  { design, participants }: Model,
  factors: ReadonlySet<string | undefined>,
): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (const participant of participants.all()) {
    if (!getsPacks(participant.corrected?.voided?.cause)) continue;
    const levels = currentLevels(participant);
    for (const factor of factors) {
      const level = levels[design.factors.findIndex(({ name }) => name === factor)] ?? '';
      const key = placeOf(participant.treatment, factor === undefined ? undefined : { factor, level });
      numbers.set(key, (numbers.get(key) ?? 0) + 1);
    }
  }
  return numbers;
}
