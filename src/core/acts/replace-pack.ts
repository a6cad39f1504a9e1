import { CodeReplaced, ReplacementCause } from '../../../events/packs.ts';
import { PackCode } from '../../../events/study.ts';
import { type StudyOutcome, stale } from '../model/outcomes.ts';
import { heldCodes, withPack } from '../model/participants.ts';
import { SETTLED } from '../model/status.ts';
import { aboutParticipant, type FormValues, type ParticipantContext, participantAct } from './act.ts';
import { choosing, furtherProblem, noPatientProblem } from './choose-pack.ts';

const asks = {
  ...aboutParticipant,
  code: PackCode.meta({ description: 'A pack that the participant has' }),
  cause: ReplacementCause,
};
type Context = ParticipantContext<FormValues<typeof asks>>;

/** A pack of the participant cannot be used. They get another one of the same treatment. */
export const replacePack = participantAct({
  writes: CodeReplaced,
  // Treatment outlives enrolment.
  may: { scopes: ['randomize', 'supply'], commandLine: true, in: SETTLED },
  asks,
  problem: (context) =>
    packProblem(context) ??
    // It binds requests: the logs of earlier versions show such replacements.
    (context.askedAt === undefined ? undefined : noPatientProblem(context)) ??
    furtherProblem(context, 2),
  chooses: choosing('by', 1),
  apply: (participant, { data }) => withPack(participant, data.code, data.by),
});

function packProblem({ asked: { code }, by, participant }: Context): StudyOutcome | undefined {
  const held = heldCodes(participant);
  if (held.length === 0) return stale('the participant has no pack', 'code');
  if (held.includes(code)) return undefined;
  if (!by.mayRead) return stale('the participant has another pack now', 'code');
  return stale(
    `the participant has ${held.length > 1 ? 'the packs' : 'the pack'} ${held.join(', ')} now`,
    'code',
  );
}
