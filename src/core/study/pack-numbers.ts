/** How many packs a study has, and what became of them. */
import type { ParticipantEvents } from '../../../projections/participant-events.ts';
import type { ActName } from '../acts/acts.ts';
import type { StudyState } from './state.ts';

export interface PackNumbers {
  readonly registered: number;
  /** Including those that were replaced since. */
  readonly given: number;
  readonly replaced: number;
  readonly withdrawn: number;
  /** At visits. Absent if none was. */
  readonly dispensed?: number;
  readonly corrected?: number;
}

/** Says nothing about arms. Undefined in a study without packs. */
export function packNumbers(state: StudyState, { inOrder }: ParticipantEvents): PackNumbers | undefined {
  if (state.status === 'unregistered' || state.packs.isEmpty()) return undefined;
  const { packs, given, withdrawn } = state;
  const numberOf = (name: ActName) => inOrder.filter(({ type }) => type === name).length;
  const dispensed = numberOf('PackDispensed');
  return {
    registered: [...packs.entries()].length,
    given: [...given.entries()].length,
    replaced: numberOf('CodeReplaced'),
    withdrawn: [...withdrawn.entries()].length,
    ...(dispensed > 0 && { dispensed, corrected: numberOf('DispensationCorrected') }),
  };
}
