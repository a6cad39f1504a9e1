/** Studies with urns. */
import type { StudyConfiguration } from '../../events/study.ts';
import type { UrnDesign, UrnDraw } from '../../src/core/methods/urn.ts';
import { type Design, registeredDesign } from '../../src/core/model/design.ts';
import { methodDesignOf, urnDesignOf as urnDesignIn } from '../../src/core/model/method-of.ts';

export const urnDesignOf = (design: Design): UrnDesign => urnDesignIn(methodDesignOf(design, {}));

/** Of a study that was never amended: for `allocate`, and as the shape of `Counts`. */
export function urnOf(configuration: StudyConfiguration) {
  const { factors, slots } = registeredDesign(configuration);
  return { ...urnDesignOf(registeredDesign(configuration)), factors, slots };
}

/** The evidence of a draw from an urn. */
export function drawIn({ draw }: { readonly draw?: UrnDraw | undefined }): UrnDraw {
  if (!draw) throw new Error('nothing was drawn from an urn');
  return draw;
}
