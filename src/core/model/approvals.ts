/** Checks approvals that were given outside the system, as far as they can be checked. */

import type { Approval, Protocol } from '../../../events/define.ts';
import type { StudyConfiguration } from '../../../events/study.ts';
import { isDay, latestDay } from '../../base/time.ts';
import type { FieldProblem } from './outcomes.ts';

const NO_DAY = 'it is not a day of the calendar';

/**
 * @param askedAt of a request, whose approvals must have been given; undefined for a replay
 * @param lacking why a live study needs an approval; without it, no approval is needed
 */
export function approvalProblems(
  approvals: readonly Approval[],
  askedAt: string | undefined,
  mode?: StudyConfiguration['mode'],
  lacking = '',
): FieldProblem[] {
  if (mode === 'live' && approvals.length === 0) return [{ field: 'approvals', why: lacking }];
  const latest = askedAt === undefined ? undefined : latestDay(askedAt);
  return approvals.flatMap(({ on }, i) => {
    const field = `approvals[${i}].on`;
    if (!isDay(on)) return [{ field, why: NO_DAY }];
    return latest !== undefined && on > latest ? [{ field, why: `${on} is in the future` }] : [];
  });
}

export function protocolProblems(protocol: Protocol | undefined): FieldProblem[] {
  const date = protocol?.date;
  return date === undefined || isDay(date) ? [] : [{ field: 'protocol.date', why: NO_DAY }];
}
