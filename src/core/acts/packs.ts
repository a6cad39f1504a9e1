import { z } from 'zod';
import {
  CodeReplaced,
  CodesWithdrawn,
  DispensationCause,
  DispensationCorrected,
  PackDispensed,
  ReplacementCause,
} from '../../../events/packs.ts';
import { PackCode, Visit } from '../../../events/study.ts';
import { counted } from '../../base/wording.ts';
import { type Design, declaredVisit, foldedVisit, revealsArm } from '../model/design.ts';
import { isPackWithin } from '../model/key-limits.ts';
import { Grounds, Note } from '../model/members.ts';
import { alreadySo, impossible, SETTLED, type StudyOutcome, stale, unfit } from '../model/outcomes.ts';
import { isFree, lacksPacks, MAX_ENTRIES, packFor, takePack } from '../model/packs.ts';
import {
  currentId,
  currentLevels,
  furtherPacks,
  getsPacks,
  heldCodes,
  type Participant,
  presentPacks,
  withPack,
} from '../model/participants.ts';
import {
  aboutParticipant,
  type Choice,
  type FormValues,
  type ParticipantContext,
  participantAct,
  type StudyContext,
  studyAct,
} from './act.ts';

/** Who may get another pack after the enrolment, and which one: the same for a visit and in place of a pack. */

type Context = ParticipantContext<unknown>;

function noPatientProblem({ by, participant }: Context): StudyOutcome | undefined {
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
function furtherProblem({ by, participant }: Context, most: number): StudyOutcome | undefined {
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
function choosing<M extends string>(
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

const asksReplacePack = {
  ...aboutParticipant,
  code: PackCode.meta({ description: 'A pack that the participant has' }),
  cause: ReplacementCause,
};
type ContextReplacePack = ParticipantContext<FormValues<typeof asksReplacePack>>;

/** A pack of the participant cannot be used. They get another one of the same treatment. */
export const replacePack = participantAct({
  writes: CodeReplaced,
  // Treatment outlives enrolment.
  may: { scopes: ['randomize', 'supply'], commandLine: true, in: SETTLED },
  asks: asksReplacePack,
  problem: (context) =>
    packProblemReplacePack(context) ??
    // It binds requests: the logs of earlier versions show such replacements.
    (context.askedAt === undefined ? undefined : noPatientProblem(context)) ??
    furtherProblem(context, 2),
  chooses: choosing('by', 1),
  apply: (participant, { data }) => withPack(participant, data.code, data.by),
});

function packProblemReplacePack({
  asked: { code },
  by,
  participant,
}: ContextReplacePack): StudyOutcome | undefined {
  const held = heldCodes(participant);
  if (held.length === 0) return stale('the participant has no pack', 'code');
  if (held.includes(code)) return undefined;
  if (!by.mayRead) return stale('the participant has another pack now', 'code');
  return stale(
    `the participant has ${held.length > 1 ? 'the packs' : 'the pack'} ${held.join(', ')} now`,
    'code',
  );
}

/** What the acts about packs of visits have in common. */

function inDeclaredSpelling(visit: string, design: Pick<Design, 'visits'>): string {
  return declaredVisit(design, visit) ?? visit;
}

/** Visits that the study does not have are for whoever supplies packs. No visit tells an arm. */
function undeclaredProblem(
  { by, model: { design } }: ParticipantContext<unknown>,
  field: string,
  visit: string,
): StudyOutcome | undefined {
  if (declaredVisit(design, visit) !== undefined) return undefined;
  if (by.isSupply)
    return revealsArm(visit, design.treatments)
      ? unfit([{ field, why: 'is, or contains, the name of an arm' }])
      : undefined;
  const { visits } = design;
  const known = visits.length > 0 ? `one of ${visits.join(', ')}` : 'the study has no visits';
  return unfit([{ field, why: `${known} (others need a key with the scope supply)` }]);
}

const asksDispensePack = {
  ...aboutParticipant,
  visit: Visit.meta({ description: 'The visit. Others than those of the study need the scope `supply`' }),
};
type ContextDispensePack = ParticipantContext<FormValues<typeof asksDispensePack>>;

/** The participant gets a pack of their treatment at a visit. */
export const dispensePack = participantAct({
  writes: PackDispensed,
  // Treatment outlives enrolment.
  may: { scopes: ['randomize', 'supply'], commandLine: true, in: SETTLED },
  asks: asksDispensePack,
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

function presentProblem({
  asked: { visit },
  by,
  participant,
}: ContextDispensePack): StudyOutcome | undefined {
  const present = presentPacks(participant).find((pack) => foldedVisit(pack.visit) === foldedVisit(visit));
  if (!present) return undefined;
  const shown = by.mayRead ? { pack: { visit: present.visit, code: present.code } } : {};
  return { type: 'dispensed-already', participantId: currentId(participant), visit: present.visit, ...shown };
}

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
type ContextCorrectDispensation = ParticipantContext<Values>;

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

function packProblem({ asked, by, participant }: ContextCorrectDispensation): StudyOutcome | undefined {
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

function visitProblem(context: ContextCorrectDispensation): StudyOutcome | undefined {
  const { asked, by, participant } = context;
  const { to } = asked;
  if (!to) return undefined;
  const other = presentPacks(participant).find(({ visit }) => foldedVisit(visit) === foldedVisit(to));
  if (!other) return undeclaredProblem(context, 'to', to);
  const which = by.mayRead ? ` (${other.code})` : '';
  return impossible('to', `the participant has a pack for ${other.visit}${which}: correct that one first`);
}

const asksWithdrawPacks = {
  codes: z.array(PackCode).min(1).max(MAX_ENTRIES).meta({ description: 'Packs that are free' }),
  reason: Grounds,
};
type ValuesWithdrawPacks = FormValues<typeof asksWithdrawPacks>;

/** Packs that nobody has must not be given out. */
export const withdrawPacks = studyAct({
  writes: CodesWithdrawn,
  may: { scopes: ['supply'], commandLine: true, in: SETTLED },
  asks: asksWithdrawPacks,
  chooses: {
    members: ['count'],
    lacks: (context) => notFree(context).length > 0,
    choose: ({ asked: { codes } }) => ({ count: codes.length }),
    // A code that is unknown, not free, or outside the limits of the key: one text for all.
    none: (context) => impossible('codes', `no free pack has the code ${notFree(context).join(', ')}`),
    // Which packs may be withheld.
    problem: ({ asked: { codes } }: { asked: Partial<ValuesWithdrawPacks> }, { count }) =>
      codes && codes.length !== count ? impossible('count', 'not the number of the packs') : undefined,
  },
  // Which ones is sealed.
  apply: (model, { sections: { withdrawn } }) => {
    for (const code of withdrawn?.codes ?? []) {
      model.withdrawn.set(code, true);
      takePack(model, code);
    }
    return {};
  },
});

function notFree({ asked: { codes }, by, model }: StudyContext<ValuesWithdrawPacks>): string[] {
  const isKnown = (code: string) => {
    const pack = model.packs.get(code);
    return pack !== undefined && isFree(model, code) && isPackWithin(by.where, pack, model.design);
  };
  return codes.filter((code, i) => !isKnown(code) || codes.indexOf(code) !== i);
}
