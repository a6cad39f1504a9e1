/** What became of each pack, for those who account for them. It names no arm. */
import type { DispensationCause, ReplacementCause } from '../../../events/packs.ts';
import type { Actor } from '../../../events/record.ts';
import type { Model } from '../model/model.ts';
import { idByPack, isFree, type Pack } from '../model/packs.ts';
import { currentId, type Participant, type ParticipantEvent } from '../model/participants.ts';

/** `void`: the participant never got it. `nobody`: only a wrong entry had it, and that was replaced. */
export const ACCOUNTED_STATES = ['free', 'held', 'replaced', 'void', 'nobody', 'withdrawn'] as const;

/** How a pack was given out. */
interface GivenOut {
  readonly dispensedAt: string;
  readonly user: string;
  readonly onBehalfOf?: string;
  /** Absent for a pack of the enrolment, and for a void one. */
  readonly visit?: string;
  readonly replacedBy?: string;
  /** Why it was replaced, or is void. */
  readonly cause?: ReplacementCause | DispensationCause;
}

/** All but the first two members are there if they say something. */
export interface AccountedPack extends Partial<GivenOut> {
  readonly code: string;
  readonly state: (typeof ACCOUNTED_STATES)[number];
  /** The id in use of the participant who has it, had it, or was said to have got it. */
  readonly id?: string;
}

interface Options {
  /** @param participantId as randomized, of the participant who has or had the pack */
  readonly isShown: (pack: Pack, participantId: string | undefined) => boolean;
  /** Whether what is said about a void pack may name the participant. */
  readonly mayKnowOf: (participant: Participant) => boolean;
}

const EVERYTHING: Options = { isShown: () => true, mayKnowOf: () => true };

/** In the order of registration. */
export function packAccountability(state: Model, options = EVERYTHING): AccountedPack[] {
  const accounted: AccountedPack[] = [];
  const given = givenOut(state);
  for (const [code, pack] of state.packs.entries())
    if (options.isShown(pack, idByPack(state, code)))
      accounted.push(accountOf(state, code, given.get(code), options));
  return accounted;
}

type GivenTo = readonly [participant: Participant, how: GivenOut];

function accountOf(
  state: Model,
  code: string,
  given: GivenTo | undefined,
  { mayKnowOf }: Options,
): AccountedPack {
  if (isFree(state, code)) return { code, state: 'free' };
  if (state.withdrawn.get(code)) return { code, state: 'withdrawn' };
  if (!given) return { code, state: 'nobody' };
  const [participant, how] = given;
  const account: AccountedPack = { code, state: stateOf(participant, code, how) };
  return mayKnowOf(participant) ? { ...account, id: currentId(participant), ...how } : account;
}

function stateOf({ dispensed = [] }: Participant, code: string, { replacedBy }: GivenOut) {
  if (replacedBy !== undefined) return 'replaced';
  const isVoid = dispensed.some((pack) => pack.code === code && pack.visit === undefined);
  return isVoid ? 'void' : 'held';
}

/** All packs that participants have, had, or were said to have got, by code. */
function givenOut({ participants, shown }: Model): ReadonlyMap<string, GivenTo> {
  const all = new Map<string, GivenTo>();
  for (const participant of participants.all())
    for (const [code, how] of givenTo(participant, shown?.events.byEnrolment.get(participant.revision)))
      all.set(code, [participant, how]);
  return all;
}

/** @param events about the participant, which say how they got packs after the first one */
function givenTo(participant: Participant, events: readonly ParticipantEvent[] = []) {
  const { at, occurredAt, user, onBehalfOf, pack } = participant;
  const enrolment: GivenOut = { dispensedAt: occurredAt ?? at, ...byWhom({ user, onBehalfOf }) };
  const given = new Map<string, GivenOut>();
  const before = (code: string) => given.get(code) ?? enrolment;
  for (const event of events) {
    const how = { dispensedAt: event.at, ...byWhom(event.actor) };
    switch (event.type) {
      case 'PackDispensed': {
        const { code, visit } = event.data;
        given.set(code, { ...how, visit });
        break;
      }
      case 'CodeReplaced': {
        const { code, by, cause } = event.data;
        const replaced = before(code);
        given.set(code, { ...replaced, replacedBy: by, cause });
        given.set(by, { ...how, ...atVisit(replaced.visit) });
        break;
      }
      case 'DispensationCorrected': {
        const { code, to, cause } = event.data;
        const { visit: _, cause: __, ...corrected } = before(code);
        given.set(code, { ...corrected, ...(to === undefined ? { cause } : atVisit(to)) });
      }
    }
  }
  if (pack && !given.has(pack.code)) given.set(pack.code, enrolment);
  return given;
}

function atVisit(visit: string | undefined): Pick<GivenOut, 'visit'> {
  return visit === undefined ? {} : { visit };
}

function byWhom(actor: Actor | Pick<Participant, 'user' | 'onBehalfOf'>) {
  const onBehalfOf = 'onBehalfOf' in actor ? actor.onBehalfOf : undefined;
  return { user: actor.user, ...(onBehalfOf !== undefined && { onBehalfOf }) };
}
