/** Warns of methods that sites could predict or steer, or that would balance little. No warning shows a parameter. */
import type { MethodConfiguration, MethodParameters } from '../../../events/study.ts';
import { counted } from '../../base/wording.ts';

type Warn = (setting: string, message: string) => void;

/** Schulz & Grimes 2002: below this, complete randomization often leaves arms of unequal size. */
const ENOUGH = 200;

export function warnAboutMethod(
  configuration: MethodConfiguration,
  { blocks, minimization }: MethodParameters,
  warn: Warn,
): void {
  if (blocks) warnAboutBlocks(configuration, blocks.perSlot, warn);
  if (minimization) warnAboutMinimization(configuration, minimization.pThousandths, warn);
  const { method, mode, targetEnrollment = ENOUGH } = configuration;
  if (method.name === 'complete' && mode === 'live' && targetEnrollment < ENOUGH)
    warn(
      'method',
      `with complete randomization and ${counted(targetEnrollment, 'participant')}, the arms may well differ in size (hint: it is for ${ENOUGH} and more; compare methods with urn simulate)`,
    );
}

function warnAboutBlocks(configuration: MethodConfiguration, perSlot: readonly number[], warn: Warn): void {
  const { blinding, factors, method, targetEnrollment } = configuration;
  if (blinding !== 'blinded')
    warn(
      'method',
      'the study has blocks and is open: who sees the arms of a site can tell the last ones of a block (hint: blinding: blinded, or the urn)',
    );
  if (perSlot.length === 1)
    warn('method', 'all blocks have one size, so their ends are easily guessed (hint: two or three sizes)');
  if (perSlot[0] === 1)
    warn(
      'method',
      'some blocks have a single place for each slot: its last participant is certain (hint: larger sizes)',
    );
  if (targetEnrollment === undefined || !('by' in method)) return;
  const strata = factors
    .filter(({ name }) => method.by.includes(name))
    .reduce((product, { levels }) => product * levels.length, 1);
  if (shareOfComplete(strata, slotsOf(configuration), perSlot, targetEnrollment) > 1 / 9)
    warn(
      'method',
      `${counted(strata, 'stratum', 'strata')}: the arms may differ by more than a third of what no blocks at all would give (hint: fewer factors in by)`,
    );
}

/**
 * With every stratum in the middle of a block: the variance of an arm's size, divided by that of complete randomization.
 * S Σ b (b + 1) / (6 n Σ b), over the sizes b. For one size and two arms: Hallstrom & Davis 1988.
 */
function shareOfComplete(strata: number, slots: number, perSlot: readonly number[], n: number): number {
  const sizes = perSlot.map((places) => places * slots);
  const sum = (of: (size: number) => number) => sizes.reduce((total, size) => total + of(size), 0);
  return (strata * sum((size) => size * (size + 1))) / (6 * n * sum((size) => size));
}

function slotsOf({ treatments, ratio }: MethodConfiguration): number {
  return ratio?.reduce((sum, share) => sum + share, 0) ?? treatments.length;
}

function warnAboutMinimization(
  { blinding, policies = {} }: MethodConfiguration,
  p: number,
  warn: Warn,
): void {
  if (p > 900)
    warn(
      'method',
      'p is above 0.9, so most allocations can be guessed (hint: 0.8, or 0.7 where sites see arms)',
    );
  if (blinding === 'blinded') return;
  const { levelCounts, voidCounts } = policies;
  if (levelCounts === 'as-corrected' || voidCounts === 'removed')
    warn(
      'policies',
      'the study is open, and a correction changes what is minimized: who sees the arms can steer the next one (hint: level_counts: as-randomized, void_counts: kept)',
    );
}
