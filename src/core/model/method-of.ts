/** The method of a study, and what it sees of the study's design. */
import type { MethodParameters } from '../../../events/study.ts';
import { type BlocksDesign, PermutedBlocks } from '../methods/blocks.ts';
import { Complete } from '../methods/complete.ts';
import { FollowedList, type ListDesign } from '../methods/list.ts';
import type { Method, OpenSlots } from '../methods/method.ts';
import { Minimization, type MinimizationDesign } from '../methods/minimization.ts';
import { kernelOf, type UrnDesign, UrnKernel } from '../methods/urn.ts';
import { type Design, hasRatio } from './design.ts';

/** Plain data, so that it can be sent to another thread. */
export type MethodDesign =
  | ({ readonly method: 'urn' } & UrnDesign)
  | ({ readonly method: 'complete' } & OpenSlots)
  | ({ readonly method: 'blocks' } & BlocksDesign)
  | ({ readonly method: 'list' } & ListDesign)
  | ({ readonly method: 'minimization' } & MinimizationDesign);

/** Of a registration's sections, without their salts. */
export function parametersIn({ blocks, minimization }: MethodParameters): MethodParameters {
  if (blocks) return { blocks: { perSlot: blocks.perSlot } };
  if (!minimization) return {};
  const { measure, pThousandths, weights } = minimization;
  return { minimization: { measure, pThousandths, ...(weights && { weights }) } };
}

/** @param parameters the sealed ones; those that are withheld are absent, and then nothing can be drawn */
export function methodDesignOf(design: Design, parameters: MethodParameters): MethodDesign {
  const { method, factors } = design;
  const open = openSlotsOf(design);
  const placesOf = (names: readonly string[]) =>
    names.map((name) => factors.findIndex((factor) => factor.name === name));
  switch (method.name) {
    case 'urn': {
      const { w, alpha, beta, D } = method;
      const active = factors.filter(({ isRetired }) => !isRetired);
      return { method: 'urn', w, alpha, beta, D, ...open, factors: active };
    }
    case 'complete':
      return { method: 'complete', ...open };
    case 'minimization':
      return { method: 'minimization', factors, parameters: parameters.minimization, ...open };
    case 'blocks':
      return { method: 'blocks', by: placesOf(method.by), perSlot: parameters.blocks?.perSlot, ...open };
    case 'list':
      return { method: 'list', by: placesOf(method.by), ...open };
  }
}

function openSlotsOf(design: Design): OpenSlots {
  const { slots, factors, closedTreatments } = design;
  if (closedTreatments.length === 0 && !factors.some(({ isRetired }) => isRetired))
    return { slots, hasRatio: hasRatio(design) };
  const places = {
    slots: indexesOf(slots, (slot) => !closedTreatments.includes(slot)),
    factors: indexesOf(factors, ({ isRetired }) => !isRetired),
  };
  return { slots: places.slots.map((slot) => slots[slot] ?? ''), places, hasRatio: hasRatio(design) };
}

function indexesOf<T>(list: readonly T[], applies: (one: T) => boolean): number[] {
  return list.flatMap((one, index) => (applies(one) ? [index] : []));
}

const methods = new WeakMap<MethodDesign, Method>();

/** The method of a design, always the same one, so that its arrays are used again. */
export function methodOf(design: MethodDesign): Method {
  if (design.method === 'urn') return kernelOf(design);
  const known = methods.get(design);
  if (known) return known;
  const made = newMethod(design);
  methods.set(design, made);
  return made;
}

function newMethod(design: MethodDesign): Method {
  switch (design.method) {
    case 'urn':
      return new UrnKernel(design);
    case 'complete':
      return new Complete(design);
    case 'blocks':
      return new PermutedBlocks(design);
    case 'minimization':
      return new Minimization(design);
    case 'list':
      return new FollowedList(design);
  }
}

/** What only a study with urns has. @throws Error if the study has another method */
export function urnDesignOf(design: MethodDesign): UrnDesign {
  if (design.method !== 'urn') throw new Error(`a study with the method ${design.method} has no urns`);
  return design;
}
