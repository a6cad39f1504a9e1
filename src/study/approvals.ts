/** Checks approvals that were given outside the system, as far as they can be checked. */
import type { StudyConfiguration } from '../../events/study.ts';
import type { Approval, Protocol } from '../../events/text.ts';
import { isDay } from '../base/day.ts';
import type { FieldProblem } from './commands.ts';

const NO_DAY = 'it is not a day of the calendar';

/** @param lacking why a live study needs an approval; without it, no approval is needed */
export function approvalProblems(
  approvals: readonly Approval[],
  mode?: StudyConfiguration['mode'],
  lacking = '',
): FieldProblem[] {
  if (mode === 'live' && approvals.length === 0) return [{ field: 'approvals', why: lacking }];
  return approvals.flatMap(({ on }, i) => (isDay(on) ? [] : [{ field: `approvals[${i}].on`, why: NO_DAY }]));
}

export function protocolProblems(protocol: Protocol | undefined): FieldProblem[] {
  const date = protocol?.date;
  return date === undefined || isDay(date) ? [] : [{ field: 'protocol.date', why: NO_DAY }];
}
