/** The limits of a design as a studies file states them: a file leaves closed levels out, and their limits too. */
import type { Limits } from '../../events/study.ts';
import type { Design } from '../../projections/design.ts';

type LevelLimit = NonNullable<Limits['levels']>[number];

/** What a file that agrees with the design states. */
export function statedLimits(design: Design): Limits | undefined {
  return limitsOf(
    design.limits?.total,
    levelLimits(design).filter((limit) => !isClosed(design, limit)),
  );
}

/** The limits of a file in the order of the design, in which the same limits have one form. */
export function limitsInOrder(file: Limits | undefined, { factors }: Design): Limits | undefined {
  const stated = file?.levels ?? [];
  const known = factors.flatMap((factor) =>
    factor.levels.flatMap((name) =>
      stated.filter(({ factor: of, level }) => of === factor.name && level === name),
    ),
  );
  return limitsOf(file?.total, [...known, ...stated.filter((limit) => !known.includes(limit))]);
}

/** All limits that a design has when the file is followed: closed levels keep theirs. */
export function limitsToBe(file: Limits | undefined, design: Design): Limits | undefined {
  const kept = levelLimits(design).filter((limit) => isClosed(design, limit));
  return limitsInOrder(limitsOf(file?.total, [...(file?.levels ?? []), ...kept]), design);
}

function levelLimits({ limits }: Design): readonly LevelLimit[] {
  return limits?.levels ?? [];
}

function isClosed({ factors }: Design, { factor, level }: LevelLimit): boolean {
  return factors.some(({ name, closed }) => name === factor && closed.includes(level));
}

/** Without a limit there is no object. */
function limitsOf(total: number | undefined, levels: readonly LevelLimit[]): Limits | undefined {
  if (total === undefined && levels.length === 0) return undefined;
  return { ...(total !== undefined && { total }), ...(levels.length > 0 && { levels: [...levels] }) };
}
