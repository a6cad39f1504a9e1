/** The limits of a design as a studies file states them: without closed levels and retired factors. */
import type { Limits } from '../../../events/study.ts';
import { activeFactors, type Design } from '../model/design.ts';

type LevelLimit = NonNullable<Limits['levels']>[number];

/** What a file states if it agrees with the design. */
export function statedLimits(design: Design): Limits | undefined {
  return limitsOf(
    design.limits?.total,
    levelLimits(design).filter((limit) => !isLeftOut(design, limit)),
  );
}

/**
 * The limits of a file in the order of the design, so that the same limits have a single form. Limits of a factor that is
 * not asked for are left out: that difference is reported for the factor.
 */
export function limitsInOrder(file: Limits | undefined, design: Design): Limits | undefined {
  const names = activeFactors(design).map(({ name }) => name);
  const stated = (file?.levels ?? []).filter(({ factor }) => names.includes(factor));
  return limitsOf(file?.total, inOrder(stated, design));
}

/** All limits of a design that follows the file: closed levels and retired factors keep theirs. */
export function resultingLimits(file: Limits | undefined, design: Design): Limits | undefined {
  const stated = limitsInOrder(file, design)?.levels ?? [];
  const kept = levelLimits(design).filter((limit) => isLeftOut(design, limit));
  return limitsOf(file?.total, inOrder([...stated, ...kept], design));
}

function inOrder(limits: readonly LevelLimit[], { factors }: Design): readonly LevelLimit[] {
  const known = factors.flatMap((factor) =>
    factor.levels.flatMap((name) =>
      limits.filter(({ factor: of, level }) => of === factor.name && level === name),
    ),
  );
  return [...known, ...limits.filter((limit) => !known.includes(limit))];
}

function levelLimits({ limits }: Design): readonly LevelLimit[] {
  return limits?.levels ?? [];
}

function isLeftOut({ factors }: Design, { factor, level }: LevelLimit): boolean {
  const found = factors.find(({ name }) => name === factor);
  return found !== undefined && (found.isRetired || found.closed.includes(level));
}

/** Undefined without a limit. */
function limitsOf(total: number | undefined, levels: readonly LevelLimit[]): Limits | undefined {
  if (total === undefined && levels.length === 0) return undefined;
  return { ...(total !== undefined && { total }), ...(levels.length > 0 && { levels: [...levels] }) };
}
