/** What the urns see of a study that was never amended. */
import type { StudyConfiguration } from '../../events/study.ts';
import { registeredDesign } from '../../projections/design.ts';
import { urnDesignOf } from '../../src/core/study/urn-design.ts';

/** For `allocate`, and as the shape of `Counts`. */
export function urnOf(configuration: StudyConfiguration) {
  const { factors, slots } = registeredDesign(configuration);
  return { ...urnDesignOf(registeredDesign(configuration)), factors, slots };
}
