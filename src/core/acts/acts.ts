/**
 * All acts, and the one order in which each of them is decided. Whoever adds an act describes it beside those of its kind
 * (study.ts, corrections.ts, packs.ts, unblinding.ts) and puts it on the list here. Pure.
 *
 * First the list and who may do what, then the command and its decision, then what a record says was asked, for replays.
 */
import type { StudyFact } from '../../../events/catalogue.ts';
import type { EventDefinition } from '../../../events/define.ts';
import type { PartialEvent } from '../../../events/record.ts';
import type { Design } from '../model/design.ts';
import { brokenLimit, isWithin, limitNow, type Stake, stakeOf } from '../model/key-limits.ts';
import { digestOf, isAmendedSince, type Model, repeated } from '../model/model.ts';
import { type Members, SETTLED, STATUSES, type StudyOutcome } from '../model/outcomes.ts';
import { countsMoved, currentLevels, type Enrolled, type Participant } from '../model/participants.ts';
import type { Decision, Occasion, Urgency } from '../write/decider.ts';
import {
  type Form,
  type FormValues,
  factOf,
  type Happening,
  membersOf,
  type ParticipantAct,
  type ParticipantContext,
  type Permit,
  type Requester,
  type StudyAct,
} from './act.ts';
import { correctId, correctLevels, reinstate, voidAllocation } from './corrections.ts';
import { correctDispensation, dispensePack, replacePack, withdrawPacks } from './packs.ts';
import { close, pause, reopen, resume } from './study.ts';
import { breakCode, reportUnblinding } from './unblinding.ts';

/** All acts, in the order in which documents show them. */
const ACTS = [
  pause,
  resume,
  close,
  reopen,
  correctLevels,
  voidAllocation,
  reinstate,
  correctId,
  breakCode,
  reportUnblinding,
  replacePack,
  dispensePack,
  correctDispensation,
  withdrawPacks,
] as const;

type ListedAct = (typeof ACTS)[number];
/** The name of an act: the type of its event. */
export type ActName = ListedAct['writes']['type'];

type ActNamed<N extends ActName> = Extract<ListedAct, { readonly writes: { readonly type: N } }>;
/** What is asked for by an act. */
export type ActValues<N extends ActName = ActName> = N extends ActName
  ? FormValues<ActNamed<N>['asks']>
  : never;

/** An act of which only the name is known. Its functions take what its own form and event have. */
export type Act = ParticipantAct<EventDefinition, Form> | StudyAct<EventDefinition, Form>;

// The types of its members are lost: the functions of an act are only called with what its own form and event have.
const actsByType = new Map(ACTS.map((act) => [act.writes.type as string, act as unknown as Act]));

/** The names of all acts, in the same order. */
export const ACT_NAMES = ACTS.map(({ writes }): ActName => writes.type);

type ListedParticipantAct = Extract<ListedAct, { readonly about: 'participant' }>;
/** The acts on a participant. */
export const PARTICIPANT_ACTS = ACTS.filter((act) => act.about === 'participant').map(
  ({ writes }): ListedParticipantAct['writes']['type'] => writes.type,
);

/** The act that writes events of this type; undefined for those that are written otherwise. */
export function actOf(type: ActName): Act;
export function actOf(type: string): Act | undefined;
export function actOf(type: string): Act | undefined {
  return actsByType.get(type);
}

/** Whether an event of this type says that something recorded of a participant was wrong. */
export function isCorrection(type: string): boolean {
  const act = actsByType.get(type);
  return act?.about === 'participant' && act.isCorrection === true;
}

/** Who may write an event, and in which state of the study. */
export function mayOf(type: StudyFact['type']): Permit {
  // A type that no act has is one of the others.
  return actsByType.get(type)?.may ?? OTHER_PERMITS[type as keyof typeof OTHER_PERMITS];
}

/** Who may write the events that are not described as acts. */
const OTHER_PERMITS: Readonly<Record<Exclude<StudyFact['type'], ActName>, Permit>> = {
  StudyRegistered: { commandLine: true, scopes: [], in: [] },
  ParticipantRandomized: { commandLine: false, scopes: ['randomize'], in: ['open'] },
  // In a closed study, it has no effect until the study is reopened.
  StudyAmended: { commandLine: true, scopes: ['manage'], in: SETTLED },
  // An outage is a reason to pause. A closed study takes only what was allocated before it was closed.
  AllocationForced: { commandLine: true, scopes: ['force'], in: SETTLED },
  // A pack is ordered before the study opens.
  CodesRegistered: { commandLine: true, scopes: [], in: SETTLED },
  ListRegistered: { commandLine: true, scopes: [], in: SETTLED },
  EntriesSkipped: { commandLine: true, scopes: [], in: SETTLED },
  HistoryImported: { commandLine: true, scopes: [], in: ['open', 'paused'] },
  ParticipantImported: { commandLine: true, scopes: [], in: ['importing'] },
  HistoryImportEnded: { commandLine: true, scopes: [], in: ['importing'] },
  // The log decides when. See src/core/log/recovery.ts.
  StudyRecovered: { commandLine: true, scopes: [], in: STATUSES },
};

/** Why the state of the study forbids an event; undefined if it allows it. */
export function stateProblem(
  { status }: Pick<Model, 'status'>,
  type: StudyFact['type'],
): StudyOutcome | undefined {
  return mayOf(type).in.includes(status) ? undefined : { type: 'refused', because: status };
}

/** What asks for an act. Its form has been checked. */
export type ActCommand = { readonly [N in ActName]: CommandOf<N> }[ActName];

export interface CommandOf<N extends ActName> {
  readonly type: 'act';
  readonly act: N;
  readonly asked: ActValues<N>;
  readonly by: Requester;
  /** Of the enrolling event, if only that participant is meant. */
  readonly randomizedAt?: number | undefined;
  /** Number of the last amendment of the design by which the request was judged, if that matters. */
  readonly amendment?: number | undefined;
  /** Recorded, but no part of what is asked for. */
  readonly brings?: Members | undefined;
  /** Whether it overtakes other commands. */
  readonly urgency?: Urgency | undefined;
}

/**
 * Where the members come from that an act chooses. `choose`: from the lists of packs. `try`: nowhere, in a dry run. `recorded`:
 * these are all members of the record, and the lists are withheld.
 */
export type Source = 'choose' | 'try' | { readonly recorded: Members };

type ActContext = ParticipantContext<Members>;

/** Decides an act. Every act is decided in this one order. */
export function decideAct(
  model: Model,
  command: ActCommand,
  occasion: Occasion,
  source: Source,
): Decision<StudyFact, StudyOutcome> {
  const act = actOf(command.act);
  const { by, brings = {} } = command;
  const onParticipant = act.about === 'participant' ? act : undefined;
  const participant = onParticipant && participantFor(model, command);
  if (onParticipant && !participant) return { outcome: { type: 'no-such-participant' } };
  const { participantId, revision: randomizedAt } = participant ?? {};
  const asked: Members = {
    ...(act.resolve?.(command.asked, model) ?? command.asked),
    ...(participant && { participantId, randomizedAt }),
  };
  // An act on the study looks at no participant.
  const context = { model, participant, asked, by, occasion, brings } as ActContext;
  const members = { ...asked, ...act.adds?.(context), ...brings };
  const later = (chosen?: Members) =>
    participantAfter(act, context.participant, { ...members, ...chosen }, model.design);
  const outside = onParticipant && limitsProblem(onParticipant, context, later);
  // What a key did is confirmed even if its participant has left its limits since.
  const again = repeated(model, by, () => askedDigest(act, asked, model));
  if (again && !(outside && onParticipant?.isConfirmedWithin)) return { outcome: again };
  const problem =
    outside ??
    act.done?.(context) ??
    stateProblem(model, command.act) ??
    (isAmendedSince(model, command) ? ({ type: 'amended-meanwhile' } as const) : undefined) ??
    act.problem?.(context);
  if (problem) return { outcome: participant ? withinLimits(context, problem) : problem };
  const chosen = chosenMembers(act, context, source);
  if ('none' in chosen) return { outcome: chosen.none };
  const fact = factOf(act.writes, { ...members, ...chosen.members }, by.idempotencyKey);
  const moves = participant !== undefined && countsMoved(participant, later(chosen.members), model.design);
  return { fact, outcome: { type: 'recorded', participantId, moves, data: fact.data } };
}

function participantFor(model: Model, { asked, randomizedAt }: ActCommand): Participant | undefined {
  const { participantId = '' } = asked as { readonly participantId?: string };
  const holder = model.participants.find(participantId);
  return holder?.revision === (randomizedAt ?? holder?.revision) ? holder : undefined;
}

function participantAfter<P extends Enrolled>(
  act: Act,
  participant: P,
  data: unknown,
  design: Pick<Design, 'factors'>,
): P {
  const event: Happening<EventDefinition> = { data, sections: {}, revision: -1, at: '' };
  return (act.about === 'participant' && act.apply?.(participant, event, design)) || participant;
}

type AnyParticipantAct = ParticipantAct<EventDefinition, Form>;

/** A participant outside the limits of a key does not exist for it. */
function limitsProblem(
  act: AnyParticipantAct,
  { asked, participant, by, model }: ActContext,
  later: () => Enrolled,
): StudyOutcome | undefined {
  const { design } = model;
  const stake = stakeOf(act.limits?.(asked), participant, later);
  const broken = brokenLimit(by.where, stake, design);
  if (!broken) return undefined;
  const now = { ...stake, of: stake.of.slice(0, 1) };
  const mayKnow = stake.need === 'all' && !brokenLimit(by.where, now, design);
  return mayKnow
    ? { type: 'outside-limits', limit: limitNow(broken, design) }
    : { type: 'no-such-participant' };
}

/** What makes two requests for the act the same. It stays the same when a level is renamed. */
export function askedDigest(
  act: Pick<Act, 'writes' | 'byPlace'>,
  asked: Members,
  { design }: Pick<Model, 'design'>,
): string {
  // The act's event is one of a study.
  return digestOf(act.writes.type as ActName, { ...asked, ...act.byPlace?.(asked, design) });
}

/** A site may record that a participant moves to it, but must not be able to find out levels by trying. */
function withinLimits({ by, model, participant }: ActContext, problem: StudyOutcome): StudyOutcome {
  if (problem.type !== 'stale' || isWithin(by.where, model.design, currentLevels(participant)))
    return problem;
  return { ...problem, why: 'a level is not as the request says' };
}

type ChosenMembers = { readonly members: Members } | { readonly none: StudyOutcome };

function chosenMembers(act: Act, context: ActContext, source: Source): ChosenMembers {
  const { chooses } = act;
  if (!chooses) return { members: {} };
  if (typeof source !== 'string') {
    const members = chosenIn(act, source.recorded);
    const problem = chooses.problem(context, members);
    return problem ? { none: problem } : { members };
  }
  const members = chooses.lacks(context) ? undefined : source === 'try' ? {} : chooses.choose(context);
  return members ? { members } : { none: chooses.none(context) };
}

/** The members that the act chose. */
function chosenIn(act: Act, members: Members): Members {
  return pickMembers(act.chooses?.members ?? [], members);
}

/**
 * The command that an event answers, as far as the event is included. Without what is worked out, such as `randomizedAt`, so
 * that a wrong one is found as such.
 * @param by what the event does not say of its author
 */
export function commandIn(act: Act, event: PartialEvent, by: Partial<Requester> = {}): ActCommand {
  const members = membersOf(act.writes, event);
  const { request } = event.sections as { readonly request?: { readonly idempotencyKey: string } };
  const command = {
    type: 'act',
    act: act.writes.type,
    asked: pickMembers(Object.keys(act.asks), members),
    by: { ...by, user: event.actor.user, idempotencyKey: request?.idempotencyKey },
    brings: pickMembers(act.brings ?? [], members),
  };
  // The event is one of the act's, so it has the members that the act asks for.
  return command as ActCommand;
}

/** The digest of the request that the event answered. */
export function digestIn(act: Act, event: PartialEvent, model: Pick<Model, 'design'>): string {
  const names = Object.keys(act.asks);
  const about = act.about === 'participant' ? ['participantId', 'randomizedAt'] : [];
  return askedDigest(act, pickMembers([...names, ...about], membersOf(act.writes, event)), model);
}

function pickMembers(names: readonly string[], members: Members): Members {
  return Object.fromEntries(names.map((name) => [name, members[name]]));
}

/** Where the limits of a key must have held for it to write the event. @param participant before the event */
export function stakeIn(
  act: AnyParticipantAct,
  event: PartialEvent,
  participant: Enrolled,
  design: Pick<Design, 'factors'>,
): Stake {
  const stakes = act.limits?.(membersOf(act.writes, event));
  return stakeOf(stakes, participant, () => participantAfter(act, participant, event.data, design));
}
