/** Who may get another pack after the enrolment, and which one: the same for a visit and in place of a pack. */

import { counted } from '../../base/wording.ts';
import { impossible, type StudyOutcome, stale } from '../model/outcomes.ts';
import { lacksPacks, packFor } from '../model/packs.ts';
import { currentLevels, furtherPacks, getsPacks } from '../model/participants.ts';
import type { Choice, ParticipantContext } from './act.ts';

type Context = ParticipantContext<unknown>;

export function noPatientProblem({ by, participant }: Context): StudyOutcome | undefined {
  const cause = participant.corrected?.voided?.cause;
  if (getsPacks(cause)) return undefined;
  return stale(
    `the participant is voided${by.mayRead ? ` (${cause})` : ''} and gets no packs`,
    'participantId',
  );
}

/**
 * Without somebody who sees which treatment packs hold, a participant gets so many further packs and no more: each refusal for
 * want of packs tells something about who shares an arm.
 */
export function furtherProblem({ by, participant }: Context, most: number): StudyOutcome | undefined {
  const further = furtherPacks(participant);
  if (by.isSupply || further <= most) return undefined;
  const had = counted(further, 'further pack');
  return impossible(
    'participantId',
    `this participant had ${had} (hint: ask for a key with the scope supply)`,
  );
}

/**
 * How many packs every arm needs, closed ones too, before somebody who may not know what packs hold can give one out. With one,
 * a site that takes packs until it is refused would find out who shares an arm. It must not depend on who is in the study:
 * voiding somebody and trying again would tell their arm.
 */
export const MARGIN = 3;

/**
 * @param member the code of the pack, in the record
 * @param inReplay the margin that the records of every version show
 */
export function choosing<M extends string>(
  member: M,
  inReplay = MARGIN,
): Choice<Context, Readonly<Record<M, string>>> {
  return {
    members: [member],
    lacks: ({ askedAt, by, model, participant }) => {
      const { stoppedTreatments, treatments } = model.design;
      const levels = currentLevels(participant);
      if (by.isSupply)
        return isStopped({ model, participant }) || lacksPacks(model, levels, [participant.treatment]);
      const arms = treatments.filter((arm) => !stoppedTreatments.includes(arm));
      return lacksPacks(model, levels, arms, askedAt === undefined ? inReplay : MARGIN);
    },
    // It is chosen last, and even for an arm that gets none, so that no refusal takes longer for one participant than for another.
    choose: ({ askedAt, model, participant }) => {
      const { participantId, treatment } = participant;
      const code = packFor(
        model,
        currentLevels(participant),
        treatment,
        participantId,
        askedAt === undefined,
      );
      if (code === undefined || isStopped({ model, participant })) return undefined;
      return { [member]: code } as Record<M, string>;
    },
    none: () => ({ type: 'no-code' }),
    problem: ({ model, participant }, chosen) => {
      if (model.lists === 0 || isStopped({ model, participant })) return { type: 'no-code' };
      return model.given.get(chosen[member]) === undefined
        ? undefined
        : impossible(member, 'this pack was given out before');
    },
  };
}

/** Nobody on the arm gets packs any more. Unknown where the arm is withheld. */
function isStopped({ model, participant }: Pick<Context, 'model' | 'participant'>): boolean {
  return model.design.stoppedTreatments.includes(participant.treatment);
}
