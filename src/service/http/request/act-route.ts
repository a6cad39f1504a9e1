/**
 * A route by which acts are asked for: its operation and its handler, made from the acts and a row of act-routes.ts.
 */
import { z } from 'zod';
import type { Scope } from '../../../../events/access.ts';
import { type ActName, actOf } from '../../../core/acts/acts.ts';
import type { Members, StudyOutcome } from '../../../core/model/outcomes.ts';
import { performAct } from '../../../core/study/studies.ts';
import type { KeyActor } from '../../operations/recorder.ts';
import { type ActBody, askedIn, bodyOf } from './body-form.ts';
import { ACT_HEADERS, answerAsked } from './command-reply.ts';
import { bodyOperation, ERRORS, type Json, jsonSchema } from './openapi-operation.ts';
import { idempotencyKeyOf } from './parameters.ts';
import { type BodyRequest, bodyHandler, type Services, type StudyReply } from './study-request.ts';

/** What cannot be derived from the acts. */
export interface ActRoute {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** The acts of the route; of several, by the member `action` of the body. */
  readonly acts: ActName | Readonly<Record<string, ActName>>;
  /** An example of the body, without what is in every body. */
  readonly example: Json;
  readonly results: ActResults;
  /** What these statuses mean here. */
  readonly errors: Readonly<Record<number, string>>;
}

/** `results` of a success. */
export interface ActResults {
  readonly schema: Json;
  readonly example: unknown;
  /** `results` without a result. */
  readonly empty: '[]' | '{}';
  of(request: BodyRequest<Members & { readonly study: string }>, outcome: StudyOutcome): string;
}

export function actOperation({ summary, operationId, acts, example, results, errors }: ActRoute): Json {
  return bodyOperation(summary, operationId, scopesOf(acts), {
    body: jsonSchema(bodySchema(acts)),
    bodyExample: { study: 'CHS JCOIN', ...example },
    result: results.schema,
    example: results.example,
    empty: JSON.parse(results.empty),
    headers: ACT_HEADERS,
    errors: { ...ERRORS, ...errors },
  });
}

/** Who may know which treatment each pack holds, and who may be told which pack a participant has. */
const SUPPLY: Scope = 'supply';
const READERS: ReadonlySet<Scope> = new Set(['read', 'blinded', SUPPLY]);

export function actHandler(services: Services, { acts, results }: ActRoute) {
  const body = bodySchema(acts);
  return bodyHandler(services, body, scopesOf(acts), (request): Promise<StudyReply> => {
    const { http, accepted, study } = request;
    const given = request.body as Members & typeof request.body;
    const act = typeof acts === 'string' ? acts : acts[String(given['action'])];
    if (!act) throw new Error('a body of no act');
    const { scopes, user, where } = accepted.key;
    const by = {
      ...{ user, where, isKey: true, idempotencyKey: idempotencyKeyOf(http) },
      ...{ isSupply: scopes.includes(SUPPLY), mayRead: scopes.some((scope) => READERS.has(scope)) },
    };
    const asked = askedIn(act, given);
    const ask = (isDry: boolean, actor: KeyActor) =>
      performAct(services, study, { act, asked, by, isDry }, actor);
    return answerAsked(services, request, ask, {
      empty: results.empty,
      results: (outcome) => results.of({ ...request, body: given }, outcome),
    });
  });
}

function scopesOf(acts: ActRoute['acts']): readonly Scope[] {
  const names = typeof acts === 'string' ? [acts] : Object.values(acts);
  return [...new Set(names.flatMap((name) => actOf(name).may.scopes))];
}

/** Actions with the same members are one choice. */
function bodySchema(acts: ActRoute['acts']): ActBody {
  if (typeof acts === 'string') return bodyOf(acts);
  const groups = new Map<string, readonly string[]>();
  for (const [action, name] of Object.entries(acts)) {
    const form = JSON.stringify(jsonSchema(bodyOf(name)));
    groups.set(form, [...(groups.get(form) ?? []), action]);
  }
  const choices = [...groups.values()].map((actions) => {
    const [first = '', ...others] = actions;
    const action = others.length === 0 ? z.literal(first) : z.enum([first, ...others]);
    return bodyOf(acts[first] as ActName, { action });
  });
  const [first, ...others] = choices;
  if (!first) throw new Error('a route of no act');
  return z.discriminatedUnion('action', [first, ...others]);
}
