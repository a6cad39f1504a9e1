/**
 * The acts about packs: another one in place of a pack, one at a visit, a wrong record of that, and packs that must not be
 * given out. The events are in events/packs.ts, the stock in model/packs.ts.
 *
 * No refusal may tell who shares an arm, by what it says or by how long it takes.
 */
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
import { Note, SealedReason } from '../model/members.ts';
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

/**
 * How many packs every arm needs, closed ones too, before somebody who may not know what packs hold can give one out. With one,
 * a site that takes packs until it is refused would find out who shares an arm. It must not depend on who is in the study:
 * voiding somebody and trying again would tell their arm.
 */
export const PACK_MARGIN = 3;

const REPLACE_PACK_MEMBERS = {
  ...aboutParticipant,
  code: PackCode.meta({ description: 'A pack that the participant has' }),
  cause: ReplacementCause,
};

type ReplacePackContext = ParticipantContext<FormValues<typeof REPLACE_PACK_MEMBERS>>;

/** A pack of the participant cannot be used. They get another one of the same treatment. */
export const replacePack = participantAct({
  writes: CodeReplaced,
  // Treatment outlives enrolment.
  may: { scopes: ['randomize', 'supply'], commandLine: true, in: SETTLED },
  asks: REPLACE_PACK_MEMBERS,
  problem: (context) => heldPackProblem(context) ?? voidedProblem(context) ?? furtherPacksProblem(context, 2),
  chooses: choosingPack('by'),
  apply: (participant, { data }) => withPack(participant, data.code, data.by),
});

function heldPackProblem({ asked: { code }, by, participant }: ReplacePackContext): StudyOutcome | undefined {
  const held = heldCodes(participant);
  if (held.length === 0) return stale('the participant has no pack', 'code');
  if (held.includes(code)) return undefined;
  if (!by.mayRead) return stale('the participant has another pack now', 'code');
  return stale(
    `the participant has ${held.length > 1 ? 'the packs' : 'the pack'} ${held.join(', ')} now`,
    'code',
  );
}

type PackContext = ParticipantContext<unknown>;

/** Who was voided as somebody who was never there, or twice, or entered wrongly, gets no packs. */
function voidedProblem({ by, participant }: PackContext): StudyOutcome | undefined {
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
function furtherPacksProblem({ by, participant }: PackContext, most: number): StudyOutcome | undefined {
  const further = furtherPacks(participant);
  if (by.isSupply || further <= most) return undefined;
  const had = counted(further, 'further pack');
  return impossible(
    'participantId',
    `this participant had ${had} (hint: ask for a key with the scope supply)`,
  );
}

/**
 * The choice of the pack that a participant gets: the same for a visit and in place of a pack.
 * @param member the code of the pack, in the record
 */
function choosingPack<M extends string>(member: M): Choice<PackContext, Readonly<Record<M, string>>> {
  return {
    members: [member],
    lacks: ({ by, model, participant }) => {
      const { stoppedTreatments, treatments } = model.design;
      const levels = currentLevels(participant);
      if (by.isSupply)
        return isArmStopped({ model, participant }) || lacksPacks(model, levels, [participant.treatment]);
      const arms = treatments.filter((arm) => !stoppedTreatments.includes(arm));
      return lacksPacks(model, levels, arms, PACK_MARGIN);
    },
    // It is chosen last, and even for an arm that gets none, so that no refusal takes longer for one participant than for
    // another.
    choose: ({ model, occasion, participant }) => {
      const { participantId, treatment } = participant;
      const code = packFor(model, currentLevels(participant), treatment, participantId, occasion.mode);
      if (code === undefined || isArmStopped({ model, participant })) return undefined;
      return { [member]: code } as Record<M, string>;
    },
    none: () => ({ type: 'no-code' }),
    problem: ({ model, participant }, chosen) => {
      if (model.lists === 0 || isArmStopped({ model, participant })) return { type: 'no-code' };
      return model.given.get(chosen[member]) === undefined
        ? undefined
        : impossible(member, 'this pack was given out before');
    },
  };
}

/** Nobody on the arm gets packs any more. Unknown where the arm is withheld. */
function isArmStopped({ model, participant }: Pick<PackContext, 'model' | 'participant'>): boolean {
  return model.design.stoppedTreatments.includes(participant.treatment);
}

const DISPENSE_PACK_MEMBERS = {
  ...aboutParticipant,
  visit: Visit.meta({ description: 'The visit. Others than those of the study need the scope `supply`' }),
};

type DispensePackContext = ParticipantContext<FormValues<typeof DISPENSE_PACK_MEMBERS>>;

/** The participant gets a pack of their treatment at a visit. */
export const dispensePack = participantAct({
  writes: PackDispensed,
  // Treatment outlives enrolment.
  may: { scopes: ['randomize', 'supply'], commandLine: true, in: SETTLED },
  asks: DISPENSE_PACK_MEMBERS,
  resolve: (asked, { design }) => ({ ...asked, visit: inDeclaredSpelling(asked.visit, design) }),
  byPlace: ({ visit }) => ({ visit: foldedVisit(visit) }),
  problem: (context) =>
    dispensedAlreadyProblem(context) ??
    undeclaredVisitProblem(context, 'visit', context.asked.visit) ??
    voidedProblem(context) ??
    furtherPacksProblem(context, 3),
  chooses: choosingPack('code'),
  apply: (participant, { at, data: { code, visit } }) => ({
    ...participant,
    dispensed: [...(participant.dispensed ?? []), { code, visit, at, replacements: 0 }],
  }),
});

function inDeclaredSpelling(visit: string, design: Pick<Design, 'visits'>): string {
  return declaredVisit(design, visit) ?? visit;
}

function dispensedAlreadyProblem({
  asked: { visit },
  by,
  participant,
}: DispensePackContext): StudyOutcome | undefined {
  const present = presentPacks(participant).find((pack) => foldedVisit(pack.visit) === foldedVisit(visit));
  if (!present) return undefined;
  const shown = by.mayRead ? { pack: { visit: present.visit, code: present.code } } : {};
  return { type: 'dispensed-already', participantId: currentId(participant), visit: present.visit, ...shown };
}

/** Visits that the study does not have are for whoever supplies packs. No visit tells an arm. */
function undeclaredVisitProblem(
  { by, model: { design } }: PackContext,
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

const CORRECT_DISPENSATION_MEMBERS = {
  ...aboutParticipant,
  code: PackCode.meta({ description: 'A pack that the participant has, or had, for a visit' }),
  to: Visit.nullable().meta({
    description:
      'The right visit. `null`: the participant never got the pack. Then the visit can get another one, and nobody gets this one',
  }),
  cause: DispensationCause,
  note: Note,
};

type CorrectDispensationValues = FormValues<typeof CORRECT_DISPENSATION_MEMBERS>;
type CorrectDispensationContext = ParticipantContext<CorrectDispensationValues>;

/** A pack was given out at another visit than recorded, or not to this participant; or it was theirs after all. */
export const correctDispensation = participantAct({
  writes: DispensationCorrected,
  may: { scopes: ['correct', 'supply'], commandLine: true, in: SETTLED },
  isCorrection: true,
  asks: CORRECT_DISPENSATION_MEMBERS,
  // A record leaves out what a request says with null.
  resolve: (asked, { design }) =>
    ({
      ...asked,
      to: asked.to ? inDeclaredSpelling(asked.to, design) : undefined,
    }) as CorrectDispensationValues,
  byPlace: ({ to }) => ({ to: to ? foldedVisit(to) : undefined }),
  adds: ({ asked, participant }) => ({ from: recordedPack(participant, asked)?.visit }),
  problem: (context) => recordedPackProblem(context) ?? rightVisitProblem(context),
  apply: (participant, { data: { code, to } }) => ({
    ...participant,
    dispensed: (participant.dispensed ?? []).map((pack) =>
      pack.code === code ? { ...pack, visit: to } : pack,
    ),
  }),
});

function recordedPackProblem({
  asked,
  by,
  participant,
}: CorrectDispensationContext): StudyOutcome | undefined {
  const pack = recordedPack(participant, asked);
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

function recordedPack(
  { dispensed = [] }: Pick<Participant, 'dispensed'>,
  { code }: Pick<CorrectDispensationValues, 'code'>,
) {
  return dispensed.find((pack) => pack.code === code);
}

function rightVisitProblem(context: CorrectDispensationContext): StudyOutcome | undefined {
  const { asked, by, participant } = context;
  const { to } = asked;
  if (!to) return undefined;
  const other = presentPacks(participant).find(({ visit }) => foldedVisit(visit) === foldedVisit(to));
  if (!other) return undeclaredVisitProblem(context, 'to', to);
  const which = by.mayRead ? ` (${other.code})` : '';
  return impossible('to', `the participant has a pack for ${other.visit}${which}: correct that one first`);
}

const WITHDRAW_PACKS_MEMBERS = {
  codes: z.array(PackCode).min(1).max(MAX_ENTRIES).meta({ description: 'Packs that are free' }),
  reason: SealedReason,
};

type WithdrawPacksValues = FormValues<typeof WITHDRAW_PACKS_MEMBERS>;

/** Packs that nobody has must not be given out. */
export const withdrawPacks = studyAct({
  writes: CodesWithdrawn,
  may: { scopes: ['supply'], commandLine: true, in: SETTLED },
  asks: WITHDRAW_PACKS_MEMBERS,
  chooses: {
    members: ['count'],
    lacks: (context) => withdrawalProblem(context) !== undefined,
    choose: ({ asked: { codes } }) => ({ count: codes.length }),
    none: (context) => impossible('codes', withdrawalProblem(context) ?? ''),
    // Which packs may be withheld.
    problem: ({ asked: { codes } }: { asked: Partial<WithdrawPacksValues> }, { count }) =>
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

function withdrawalProblem({
  asked: { codes },
  by,
  model,
}: StudyContext<WithdrawPacksValues>): string | undefined {
  const seen = new Set<string>();
  const again = codes.filter((code) => seen.size === seen.add(code).size);
  if (again.length > 0) return `the list names a code more than once: ${[...new Set(again)].join(', ')}`;
  const notFree = codes.filter((code) => {
    const pack = model.packs.get(code);
    return !pack || !isFree(model, code) || !isPackWithin(by.where, pack, model.design);
  });
  // A code that is unknown, not free, or outside the limits of the key: one text for all.
  return notFree.length > 0 ? `no free pack has the code ${notFree.join(', ')}` : undefined;
}
