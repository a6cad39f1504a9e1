import { CodeReplaced, ReplacementCause } from '../../events/codes.ts';
import type { VoidCause } from '../../events/corrections.ts';
import { PackCode } from '../../events/study.ts';
import { currentLevels, withPack } from '../../projections/enrolled.ts';
import { counted } from '../base/counted.ts';
import { impossible, type StudyOutcome, stale } from '../model/outcomes.ts';
import { lacksPacks, packFor } from '../model/packs.ts';
import { SETTLED } from '../model/status.ts';
import { type AskedIn, aboutParticipant, type ParticipantContext, participantAct } from './act.ts';

const asks = {
  ...aboutParticipant,
  code: PackCode.meta({ description: 'The pack that the participant has' }),
  cause: ReplacementCause,
};
type Context = ParticipantContext<AskedIn<typeof asks>>;

/** The participant's pack cannot be used. They get another one of the same treatment. */
export const replacePack = participantAct({
  writes: CodeReplaced,
  // Treatment outlives enrolment.
  may: { scopes: ['randomize', 'supply'], commandLine: true, in: SETTLED },
  asks,
  problem: (context) => packProblem(context) ?? voidedProblem(context) ?? tooOften(context),
  chooses: {
    members: ['by'],
    lacks,
    // It is chosen last, so that no refusal takes longer for one participant than for another.
    choose: ({ participant, askedAt, model }) => {
      const { participantId, pack } = participant;
      const arm = pack?.treatment ?? '';
      const by = packFor(model, currentLevels(participant), arm, participantId, askedAt === undefined);
      return by === undefined ? undefined : { by };
    },
    none: () => ({ type: 'no-code' }),
    problem: ({ model }, { by }) =>
      model.given.get(by) === undefined ? undefined : impossible('by', 'this pack was given out before'),
  },
  apply: (participant, { data }) => withPack(participant, data.code, data.by),
});

function packProblem({ asked: { code }, by, participant: { pack } }: Context): StudyOutcome | undefined {
  if (!pack) return stale('the participant has no pack', 'code');
  if (pack.code === code) return undefined;
  const now = by.mayRead ? `the pack ${pack.code} now` : 'another pack now';
  return stale(`the participant has ${now}`, 'code');
}

/** Of participants who get no more packs. */
const NO_PATIENTS: ReadonlySet<VoidCause> = new Set(['duplicate', 'never-enrolled', 'entry']);

/** It binds requests: the logs of earlier versions show such replacements. */
function voidedProblem({ askedAt, by, participant }: Context): StudyOutcome | undefined {
  const cause = participant.corrected?.voided?.cause;
  if (askedAt === undefined || !cause || !NO_PATIENTS.has(cause)) return undefined;
  const why = `the participant is voided${by.mayRead ? ` (${cause})` : ''} and gets no packs`;
  return stale(why, 'participantId');
}

/** How often a participant's pack can be replaced without somebody who sees which treatment packs hold. */
const REPLACEMENTS = 3;

function tooOften({ by, participant: { pack } }: Context): StudyOutcome | undefined {
  const replacements = pack?.replacements ?? 0;
  if (by.isSupply || replacements < REPLACEMENTS) return undefined;
  const often = counted(replacements, 'time');
  return impossible(
    'code',
    `the packs of this participant were replaced ${often} (hint: ask for a key with the scope supply)`,
  );
}

/**
 * How many packs every arm needs, closed ones too, before somebody who may not know what packs hold can replace one. With one,
 * a site that replaces packs until it is refused would find out who shares an arm. It must not depend on who is in the study:
 * voiding somebody and trying again would tell their arm.
 */
const MARGIN = 3;

function lacks({ askedAt, by, model, participant }: Context): boolean {
  const own = participant.pack?.treatment ?? '';
  const arms = by.isSupply ? [own] : model.design.treatments;
  const needed = by.isSupply || askedAt === undefined ? 1 : MARGIN;
  return lacksPacks(model, currentLevels(participant), arms, needed);
}
