/** Which corrections of allocations that were entered by hand an explanation names. */
import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { registeredDesign } from '../../../projections/design.ts';
import type { ParticipantEvent } from '../../../projections/participant-events.ts';
import { countMoves } from '../../../src/evidence/explain/count-moves.ts';
import { CONFIGURATION, event, LEVELS } from '../../support/facts.ts';

const { factors } = registeredDesign(CONFIGURATION);
const [sex] = factors;
const note = { text: 'x' };

/** The entry at revision 2 was wrong; that at revision 4 replaces it, and its level is corrected. */
const corrections = [
  event(
    {
      type: 'AllocationVoided',
      data: { analysis: 'exclude', cause: 'entry', counts: 'removed', participantId: '002', randomizedAt: 2 },
      sections: { note },
    } satisfies StudyFact,
    3,
  ),
  event(
    {
      type: 'LevelsCorrected',
      data: {
        ...{ cause: 'entry', counts: 'as-corrected', participantId: '002', randomizedAt: 4 },
        changes: [{ factor: sex?.name ?? '', from: 'Female', to: 'Male' }],
      },
      sections: { note },
    } satisfies StudyFact,
    5,
  ),
] as ParticipantEvent[];

const moves = (isCounted: boolean) =>
  countMoves(
    corrections,
    (participantId) => ({
      participantId,
      levels: LEVELS,
      revision: 4,
      forced: { isCounted, cause: 'outage' as const },
    }),
    { factors, epochBegan: 0 },
  ).map(({ revision, levels }) => [revision, levels.map(({ level }) => level)]);

describe('the corrections of an allocation that was entered by hand', () => {
  it('are those of the entry in use: one that was replaced has left nothing in the urns', () => {
    expect(moves(true)).toEqual([[5, ['Female', 'Male']]]);
  });

  it('change nothing if the urns do not count it', () => {
    expect(moves(false)).toEqual([]);
  });
});
