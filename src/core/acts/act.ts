/**
 * An act: what a person or a program asks for, and one event records. It is described once, as plain data and pure
 * functions. The decision (acts.ts), the record, the fold, the replay, the route and the command follow from the description
 * (docs/adr/0029-acts.md).
 *
 * First the two kinds of description and what their functions see, then where the members of an act stand in its record, which
 * is made from them and taken apart into them.
 */
import { z } from 'zod';
import type { LevelLimit, Scope } from '../../../events/access.ts';
import type { StudyFact } from '../../../events/catalogue.ts';
import type { EventDefinition, FactOf } from '../../../events/define.ts';
import type { PartialEvent } from '../../../events/record.ts';
import type { Design } from '../model/design.ts';
import type { Stakes } from '../model/key-limits.ts';
import { ParticipantId } from '../model/members.ts';
import type { Model, Repeatable } from '../model/model.ts';
import type { Members, Status, StudyOutcome } from '../model/outcomes.ts';
import type { Enrolled, Participant } from '../model/participants.ts';
import type { Occasion } from '../write/decider.ts';

export interface ParticipantAct<E extends EventDefinition, A extends Form>
  extends DescribedAct<E, A, ParticipantContext<FormValues<A>>> {
  readonly about: 'participant';
  /** Whether it says that something recorded of the participant was wrong. */
  readonly isCorrection?: boolean;
  /** Whether a repeated request is confirmed only while its participant is within the limits of the key. */
  readonly isConfirmedWithin?: boolean;
  /** Default: before. */
  limits?(asked: FormValues<A>): Stakes;
  /** The participant afterwards. Pure: all else that changes follows from before and after. Default: the same. */
  apply?<P extends Enrolled>(participant: P, event: Happening<E>, design: Pick<Design, 'factors'>): P;
}

export interface StudyAct<E extends EventDefinition, A extends Form>
  extends DescribedAct<E, A, StudyContext<FormValues<A>>> {
  readonly about: 'study';
  /** The members of the study that it changes. Default: none. */
  apply?(model: Model, event: Happening<E>): Partial<Model>;
}

/** What all acts say. @typeParam C what their functions see */
interface DescribedAct<E extends EventDefinition, A extends Form, C> {
  readonly writes: E;
  readonly may: Permit;
  readonly asks: A;
  /** The request in the words in which it is recorded. Doing it twice changes nothing. */
  resolve?(asked: FormValues<A>, model: Model): FormValues<A>;
  /** The members with levels, by the places of the levels, which no renaming changes. */
  byPlace?(asked: FormValues<A>, design: Pick<Design, 'factors'>): object;
  /** What the request and the design alone show to be wrong, before everything but a repetition. */
  fits?(asked: FormValues<A>, model: Model): StudyOutcome | undefined;
  /** Whether `fits` checks what nothing checks again, so that an amendment in between must stop the act. */
  readonly isJudgedOnce?: boolean;
  /** Members that the act works out from what is in the clear. */
  adds?(context: C): Partial<FactOf<E>['data']>;
  /** Names of the members that the caller gives. */
  readonly brings?: readonly (keyof FactOf<E>['data'] & string)[];
  /** It is so already, or recorded already. */
  done?(context: C): StudyOutcome | undefined;
  /** Why it is not possible. */
  problem?(context: C): StudyOutcome | undefined;
  readonly chooses?: Choice<C, FactOf<E>['data']>;
}

export interface Permit {
  /** An API key needs one of these scopes. Empty: no key may do it. */
  readonly scopes: readonly Scope[];
  /** Whether somebody at the command line may do it. */
  readonly commandLine: boolean;
  /** The states of the study in which it is possible. */
  readonly in: readonly Status[];
}

/** The members of a request, beside the study. */
export type Form = Readonly<Record<string, z.ZodType>>;

export type FormValues<A extends Form> = z.infer<z.ZodObject<A>>;

/** Whom an act on a participant is about: by an id that they have or had. */
export const aboutParticipant = { participantId: ParticipantId };

/** What the functions of an act see, apart from each other. */
export interface StudyContext<A> {
  readonly model: Model;
  /** In the words in which it is recorded. */
  readonly asked: A;
  readonly by: Requester;
  /** Members that the caller gives: recorded, but no part of what is asked for. */
  readonly brings: Members;
  readonly occasion: Occasion;
}

export interface ParticipantContext<A> extends StudyContext<A> {
  readonly participant: Participant;
}

/** Who asks. */
export interface Requester extends Repeatable {
  /** Whether it is a key that asks, and not the command line. */
  readonly isKey?: boolean | undefined;
  /** The limits of the key. A participant outside them does not exist for it. */
  readonly where?: readonly LevelLimit[] | undefined;
  /** Whether they may know which treatment each pack holds. */
  readonly isSupply?: boolean | undefined;
  /** Whether they may be told which pack a participant has, and why one is voided. */
  readonly mayRead?: boolean | undefined;
}

/** Members that are worked out from data that may be sealed. */
export interface Choice<C, D> {
  readonly members: readonly (keyof D & string)[];
  /** Whether there is too little to choose from. All that a dry run looks at. */
  lacks(context: C): boolean;
  /** Undefined if there is nothing. */
  choose(context: C): Partial<D> | undefined;
  none(context: C): StudyOutcome;
  /** What is wrong with the members of a record, as far as the clear part shows. */
  problem(context: C, chosen: D): StudyOutcome | undefined;
}

/** What a fold needs of an event, or of the fact that will be one. */
export interface Happening<E> {
  readonly data: FactOf<E>['data'];
  /** Those that are not withheld. */
  readonly sections: Partial<FactOf<E>['sections']>;
  readonly revision: number;
  readonly at: string;
}

/** @throws Error when the program starts, if the record has no place for a member */
export function participantAct<E extends EventDefinition, A extends Form>(
  act: Omit<ParticipantAct<E, A>, 'about'>,
): ParticipantAct<E, A> {
  return { ...withPlaces(act), about: 'participant' };
}

/** @throws Error likewise */
export function studyAct<E extends EventDefinition, A extends Form>(
  act: Omit<StudyAct<E, A>, 'about'>,
): StudyAct<E, A> {
  return { ...withPlaces(act), about: 'study' };
}

interface MemberNames extends Pick<DescribedAct<EventDefinition, Form, never>, 'writes' | 'asks'> {
  readonly brings?: readonly string[];
  readonly chooses?: { readonly members: readonly string[] };
}

function withPlaces<T extends MemberNames>(act: T): T {
  const { writes, asks, brings = [], chooses } = act;
  for (const member of [...Object.keys(asks), ...brings, ...(chooses?.members ?? [])])
    if (!placesOf(writes).has(member)) throw new Error(`${writes.type} has no member ${member}`);
  return act;
}

/**
 * The record of an act.
 * @param members an undefined one is left out
 * @throws Error if the event has no place for a member
 */
export function factOf(
  event: EventDefinition,
  members: Members,
  idempotencyKey: string | undefined,
): StudyFact {
  const parts: Record<string, Record<string, unknown>> = { [DATA_PART]: {} };
  // In the order of a record, in which a replay reports what differs.
  for (const [name, value] of Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (value === undefined) continue;
    const place = placesOf(event).get(name);
    if (!place) throw new Error(`${event.type} has no member ${name}`);
    parts[place.part] = { ...parts[place.part], [place.member]: value };
  }
  if (idempotencyKey !== undefined) parts[REQUEST_SECTION] = { idempotencyKey };
  const { [DATA_PART]: data, ...sections } = parts;
  // The members come from the act's form, whose types stand in its description; encoding checks them against the event.
  return { type: event.type, data, sections } as StudyFact;
}

/** The members of an event. What is withheld is undefined. */
export function membersOf(event: EventDefinition, { data, sections }: Recorded): Members {
  // Each part is an object, which the event's schema has checked.
  const parts = { ...sections, [DATA_PART]: data } as Readonly<Record<string, Members | undefined>>;
  return Object.fromEntries(
    [...placesOf(event)].map(([name, { part, member }]) => [name, parts[part]?.[member]]),
  );
}

type Recorded = Pick<PartialEvent, 'data' | 'sections'>;

/** `data`, or the name of a sealed section; and the name of the member in it. */
interface MemberPlace {
  readonly part: string;
  readonly member: string;
}

const DATA_PART = 'data';
/** It holds the idempotency key, which belongs to the request and not to what is asked for. */
const REQUEST_SECTION = 'request';
/** A section with this member alone is itself the member. */
const TEXT_MEMBER = 'text';
const placesByEvent = new WeakMap<EventDefinition, ReadonlyMap<string, MemberPlace>>();

/** The place of each member that the event has. @throws Error if two have the same name */
export function placesOf(event: EventDefinition): ReadonlyMap<string, MemberPlace> {
  const before = placesByEvent.get(event);
  if (before) return before;
  const places = new Map<string, MemberPlace>();
  const add = (name: string, part: string, member: string) => {
    if (places.has(name)) throw new Error(`${event.type} has two members ${name}`);
    places.set(name, { part, member });
  };
  if (event.data instanceof z.ZodObject)
    for (const member of Object.keys(event.data.shape)) add(member, DATA_PART, member);
  for (const { name, shape } of event.sections) {
    if (name === REQUEST_SECTION) continue;
    for (const member of Object.keys(shape ?? {})) add(member === TEXT_MEMBER ? name : member, name, member);
  }
  placesByEvent.set(event, places);
  return places;
}
