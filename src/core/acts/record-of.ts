/** Where the members of an act stand in its record, which is made from them and taken apart into them. */
import { z } from 'zod';
import type { StudyFact } from '../../../events/catalogue.ts';
import type { EventDefinition } from '../../../events/define.ts';
import type { PartialEvent } from '../../../events/record.ts';
import type { Members } from '../model/outcomes.ts';

/** `data`, or the name of a sealed section; and the name of the member in it. */
interface MemberPlace {
  readonly part: string;
  readonly member: string;
}

const DATA = 'data';
/** It holds the idempotency key, which belongs to the request and not to what is asked for. */
const REQUEST = 'request';
/** A section with this member alone is itself the member. */
const TEXT = 'text';

const known = new WeakMap<EventDefinition, ReadonlyMap<string, MemberPlace>>();

/** The place of each member that the event has. @throws Error if two have the same name */
export function placesOf(event: EventDefinition): ReadonlyMap<string, MemberPlace> {
  const before = known.get(event);
  if (before) return before;
  const places = new Map<string, MemberPlace>();
  const add = (name: string, part: string, member: string) => {
    if (places.has(name)) throw new Error(`${event.type} has two members ${name}`);
    places.set(name, { part, member });
  };
  if (event.data instanceof z.ZodObject)
    for (const member of Object.keys(event.data.shape)) add(member, DATA, member);
  for (const { name, shape } of event.sections) {
    if (name === REQUEST) continue;
    for (const member of Object.keys(shape ?? {})) add(member === TEXT ? name : member, name, member);
  }
  known.set(event, places);
  return places;
}

/** @param members an undefined one is left out @throws Error if the event has no place for a member */
export function factOf(
  event: EventDefinition,
  members: Members,
  idempotencyKey: string | undefined,
): StudyFact {
  const parts: Record<string, Record<string, unknown>> = { [DATA]: {} };
  // In the order of a record, in which a replay reports what differs.
  for (const [name, value] of Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (value === undefined) continue;
    const place = placesOf(event).get(name);
    if (!place) throw new Error(`${event.type} has no member ${name}`);
    parts[place.part] = { ...parts[place.part], [place.member]: value };
  }
  if (idempotencyKey !== undefined) parts[REQUEST] = { idempotencyKey };
  const { [DATA]: data, ...sections } = parts;
  // The members come from the act's form, whose types stand in its description; encoding checks them against the event.
  return { type: event.type, data, sections } as StudyFact;
}

/** The members of an event. What is withheld is undefined. */
export function membersOf(event: EventDefinition, { data, sections }: Recorded): Members {
  // Each part is an object, which the event's schema has checked.
  const parts = { ...sections, [DATA]: data } as Readonly<Record<string, Members | undefined>>;
  return Object.fromEntries(
    [...placesOf(event)].map(([name, { part, member }]) => [name, parts[part]?.[member]]),
  );
}

type Recorded = Pick<PartialEvent, 'data' | 'sections'>;
