import { PackDispensed } from '../../../events/packs.ts';
import { Visit } from '../../../events/study.ts';
import { foldedVisit } from '../model/design.ts';
import type { StudyOutcome } from '../model/outcomes.ts';
import { currentId, presentPacks } from '../model/participants.ts';
import { SETTLED } from '../model/status.ts';
import { aboutParticipant, type FormValues, type ParticipantContext, participantAct } from './act.ts';
import { choosing, furtherProblem, noPatientProblem } from './choose-pack.ts';
import { inDeclaredSpelling, undeclaredProblem } from './visits.ts';

const asks = {
  ...aboutParticipant,
  visit: Visit.meta({ description: 'The visit. Others than those of the study need the scope `supply`' }),
};
type Context = ParticipantContext<FormValues<typeof asks>>;

/** The participant gets a pack of their treatment at a visit. */
export const dispensePack = participantAct({
  writes: PackDispensed,
  // Treatment outlives enrolment.
  may: { scopes: ['randomize', 'supply'], commandLine: true, in: SETTLED },
  asks,
  resolve: (asked, { design }) => ({ ...asked, visit: inDeclaredSpelling(asked.visit, design) }),
  byPlace: ({ visit }) => ({ visit: foldedVisit(visit) }),
  problem: (context) =>
    presentProblem(context) ??
    undeclaredProblem(context, 'visit', context.asked.visit) ??
    noPatientProblem(context) ??
    furtherProblem(context, 3),
  chooses: choosing('code'),
  apply: (participant, { at, data: { code, visit } }) => ({
    ...participant,
    dispensed: [...(participant.dispensed ?? []), { code, visit, at, replacements: 0 }],
  }),
});

function presentProblem({ asked: { visit }, by, participant }: Context): StudyOutcome | undefined {
  const present = presentPacks(participant).find((pack) => foldedVisit(pack.visit) === foldedVisit(visit));
  if (!present) return undefined;
  const shown = by.mayRead ? { pack: { visit: present.visit, code: present.code } } : {};
  return { type: 'dispensed-already', participantId: currentId(participant), visit: present.visit, ...shown };
}
