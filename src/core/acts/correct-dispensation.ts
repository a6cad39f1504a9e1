import { DispensationCause, DispensationCorrected } from '../../../events/packs.ts';
import { PackCode, Visit } from '../../../events/study.ts';
import { foldedVisit } from '../model/design.ts';
import { Note } from '../model/members.ts';
import { alreadySo, impossible, type StudyOutcome, stale } from '../model/outcomes.ts';
import type { Participant } from '../model/participants.ts';
import { presentPacks } from '../model/participants.ts';
import { SETTLED } from '../model/status.ts';
import { aboutParticipant, type FormValues, type ParticipantContext, participantAct } from './act.ts';
import { inDeclaredSpelling, undeclaredProblem } from './visits.ts';

const asks = {
  ...aboutParticipant,
  code: PackCode.meta({ description: 'A pack that the participant has, or had, for a visit' }),
  to: Visit.nullable().meta({
    description:
      'The right visit. `null`: the participant never got the pack. Then the visit can get another one, and nobody gets this one',
  }),
  cause: DispensationCause,
  note: Note,
};
type Values = FormValues<typeof asks>;
type Context = ParticipantContext<Values>;

/** A pack was given out at another visit than recorded, or not to this participant; or it was theirs after all. */
export const correctDispensation = participantAct({
  writes: DispensationCorrected,
  may: { scopes: ['correct', 'supply'], commandLine: true, in: SETTLED },
  isCorrection: true,
  asks,
  // A record leaves out what a request says with null.
  resolve: (asked, { design }) =>
    ({ ...asked, to: asked.to ? inDeclaredSpelling(asked.to, design) : undefined }) as Values,
  byPlace: ({ to }) => ({ to: to ? foldedVisit(to) : undefined }),
  adds: ({ asked, participant }) => ({ from: givenPack(participant, asked)?.visit }),
  problem: (context) => packProblem(context) ?? visitProblem(context),
  apply: (participant, { data: { code, to } }) => ({
    ...participant,
    dispensed: (participant.dispensed ?? []).map((pack) =>
      pack.code === code ? { ...pack, visit: to } : pack,
    ),
  }),
});

function givenPack({ dispensed = [] }: Pick<Participant, 'dispensed'>, { code }: Pick<Values, 'code'>) {
  return dispensed.find((pack) => pack.code === code);
}

function packProblem({ asked, by, participant }: Context): StudyOutcome | undefined {
  const pack = givenPack(participant, asked);
  if (!pack) {
    const codes = presentPacks(participant).map(({ code, visit }) => `${code} (${visit})`);
    const has = by.mayRead && codes.length > 0 ? `; for visits, they have ${codes.join(', ')}` : '';
    return stale(`the participant has no such pack of a visit${has}`, 'code');
  }
  const { to } = asked;
  if (!to && pack.visit === undefined)
    return alreadySo('the participant never got the pack, as recorded already');
  if (to && pack.visit !== undefined && foldedVisit(to) === foldedVisit(pack.visit))
    return alreadySo(`the pack is for ${pack.visit} already`);
  return undefined;
}

function visitProblem(context: Context): StudyOutcome | undefined {
  const { asked, by, participant } = context;
  const { to } = asked;
  if (!to) return undefined;
  const other = presentPacks(participant).find(({ visit }) => foldedVisit(visit) === foldedVisit(to));
  if (!other) return undeclaredProblem(context, 'to', to);
  const which = by.mayRead ? ` (${other.code})` : '';
  return impossible('to', `the participant has a pack for ${other.visit}${which}: correct that one first`);
}
