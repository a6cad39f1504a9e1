import { z } from 'zod';
import { IdCause, ParticipantIdCorrected } from '../../../events/corrections.ts';
import { patternProblem } from '../model/id-pattern.ts';
import type { Model } from '../model/model.ts';
import { alreadySo, impossible, type StudyOutcome, unfit } from '../model/outcomes.ts';
import { newIdProblem, problemsOfId } from '../model/participant-id.ts';
import { corrected, currentId } from '../model/participants.ts';
import { SETTLED } from '../model/status.ts';
import { aboutParticipant, type FormValues, type ParticipantContext, participantAct } from './act.ts';

const NewId = z
  .string()
  .superRefine((id, context) => {
    for (const problem of problemsOfId(id))
      context.addIssue({ code: 'custom', message: problem.replace(/^id /, '') });
  })
  .meta({ description: 'The right id' });

const asks = {
  ...aboutParticipant,
  to: NewId,
  cause: IdCause.meta({
    description: "`entry`: a slip when it was entered. `pattern`: it did not match the study's pattern",
  }),
};

/** The participant has the wrong id. */
export const correctId = participantAct({
  writes: ParticipantIdCorrected,
  may: { scopes: ['correct'], commandLine: true, in: SETTLED },
  isCorrection: true,
  asks,
  fits: ({ to }, model) => idMisfit(to, model),
  isJudgedOnce: true,
  adds: ({ participant }) => ({ from: currentId(participant) }),
  problem: idProblem,
  apply: (participant, { data }) => corrected(participant, { id: data.to }),
});

function idMisfit(to: string, model: Model): StudyOutcome | undefined {
  const ofNewId = model.participants.find(to) ? undefined : newIdProblem(to);
  if (ofNewId !== undefined) return unfit([{ field: 'to', why: ofNewId }]);
  const problem = patternProblem(to, model.design);
  return problem === undefined ? undefined : impossible('to', problem);
}

function idProblem({
  asked: { to },
  model,
  participant,
}: ParticipantContext<FormValues<typeof asks>>): StudyOutcome | undefined {
  if (to === currentId(participant)) return alreadySo('the participant has this id already');
  const holder = model.participants.find(to);
  // Their own former id is free for them.
  return holder && holder.participantId !== participant.participantId
    ? impossible('to', 'another participant has, or had, this id')
    : undefined;
}
