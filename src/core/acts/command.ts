/** What asks for an act, and what an event says was asked. */
import type { PartialEvent } from '../../../events/record.ts';
import type { Model } from '../model/model.ts';
import { digestOf } from '../model/model.ts';
import type { Members } from '../model/outcomes.ts';
import type { Requester } from './act.ts';
import type { Act, ActName, ActValues } from './acts.ts';
import { membersOf } from './record-of.ts';

/** Asks for an act. Its form has been checked. */
export interface CommandOf<N extends ActName> {
  readonly type: 'act';
  readonly act: N;
  readonly asked: ActValues<N>;
  readonly by: Requester;
  /** Of the enrolling event, if only that participant is meant. */
  readonly randomizedAt?: number | undefined;
  /** Number of the last amendment of the design by which the request was judged, if that matters. */
  readonly amendment?: number | undefined;
  /** In ISO 8601. Undefined in a replay. */
  readonly askedAt?: string | undefined;
  /** Recorded, but no part of what is asked for. */
  readonly brings?: Members | undefined;
}

export type ActCommand = { readonly [N in ActName]: CommandOf<N> }[ActName];

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
    asked: those(Object.keys(act.asks), members),
    by: { ...by, user: event.actor.user, idempotencyKey: request?.idempotencyKey },
    brings: those(act.brings ?? [], members),
  };
  // The event is one of the act's, so it has the members that the act asks for.
  return command as ActCommand;
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

/** The digest of the request that the event answered. */
export function digestIn(act: Act, event: PartialEvent, model: Pick<Model, 'design'>): string {
  const names = Object.keys(act.asks);
  const about = act.about === 'participant' ? ['participantId', 'randomizedAt'] : [];
  return askedDigest(act, those([...names, ...about], membersOf(act.writes, event)), model);
}

/** The members that the act chose. */
export function chosenIn(act: Act, members: Members): Members {
  return those(act.chooses?.members ?? [], members);
}

function those(names: readonly string[], members: Members): Members {
  return Object.fromEntries(names.map((name) => [name, members[name]]));
}
