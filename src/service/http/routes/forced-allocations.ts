/** POST /forced_allocations: enters an allocation that was made outside the service. Nothing is drawn. */
import { z } from 'zod';
import { ForcedCause } from '../../../../events/from-outside.ts';
import { mayOf } from '../../../core/acts/acts.ts';
import type { Design } from '../../../core/model/design.ts';
import { patternProblem } from '../../../core/model/id-pattern.ts';
import { isWithin } from '../../../core/model/key-limits.ts';
import { DryRun, Note, ParticipantId, PastInstant, StudyName } from '../../../core/model/members.ts';
import { newIdProblem } from '../../../core/model/participant-id.ts';
import type { Force } from '../../../core/study/commands.ts';
import { wasAnswered } from '../../../core/study/studies.ts';
import { ACT_HEADERS, answerCommand, outsideLimits, recordFor } from '../request/command-reply.ts';
import {
  bodyOperation,
  ERRORS,
  EXAMPLE_RECORD,
  FORBIDDEN_NOW,
  jsonSchema,
  RECORDS,
} from '../request/openapi-operation.ts';
import { idempotencyKeyOf } from '../request/parameters.ts';
import { HttpProblem, problemList } from '../request/problem.ts';
import { type BodyRequest, bodyHandler, type Services } from '../request/study-request.ts';

const Body = z.strictObject({
  study: StudyName,
  id: ParticipantId,
  levels: z
    .record(z.string(), z.string())
    .meta({ description: 'The level of every factor that is not retired, by its name' }),
  treatment: z.string().meta({ description: 'The arm that the participant was given' }),
  occurred_at: PastInstant.meta({
    format: 'date-time',
    description:
      'When the allocation was made, in ISO 8601 (UTC). Not in the future, and not before the study was registered',
  }),
  cause: ForcedCause.meta({
    description:
      '`outage`: the service could not be reached. `elsewhere`: another system allocates too. `protocol`: the protocol prescribes it',
  }),
  code: z.string().min(1).nullable().optional().meta({
    description: 'The pack that the participant was given, or null for none. Required in a study with packs',
  }),
  replaces: z.int().nonnegative().optional().meta({
    description: 'The revision of an entry of this id that was wrong and is voided with the cause `entry`',
  }),
  note: Note,
  dry_run: DryRun,
});
type Body = z.infer<typeof Body>;

const SCOPES = mayOf('AllocationForced').scopes;

export const forceOperation = bodyOperation(
  'Enter an allocation that was made outside the service',
  'forceAllocation',
  SCOPES,
  {
    body: jsonSchema(Body),
    bodyExample: {
      study: 'CHS JCOIN',
      id: '001-0010',
      levels: { sex: 'Male', local_site: '30-Dupage County' },
      treatment: 'MART',
      occurred_at: '2026-03-02T21:40:00Z',
      cause: 'outage',
      note: 'allocated by envelope 12 during the power cut',
    },
    result: RECORDS,
    example: [EXAMPLE_RECORD],
    empty: [],
    headers: ACT_HEADERS,
    errors: {
      ...ERRORS,
      409: FORBIDDEN_NOW,
      422: 'Well-formed, but impossible in this study: the id is taken, a level is closed, the arm took no participants at that time, or the allocation was made after the study was closed. Or the Idempotency-Key was used for a different request',
    },
  },
);

export function postForcedAllocation(services: Services) {
  return bodyHandler(services, Body, SCOPES, async (request) => {
    const { command, problems } = forceIn(request);
    const { idempotencyKey } = command;
    if (problems.length > 0 && !(await wasAnswered(services.studies, request.study, idempotencyKey, command)))
      throw new HttpProblem(400, problemList(problems));
    return answerCommand(services, request, command, {
      empty: '[]',
      results: () => recordFor(request, request.body.id),
    });
  });
}

/**
 * What is asked for, and every reason why the study cannot take it.
 * @throws HttpProblem 403
 */
function forceIn(request: BodyRequest<Body>): { command: Force; problems: readonly string[] } {
  const { accepted, body, design, http, study } = request;
  const inForce = design();
  const { id, treatment, cause, code, replaces, note } = body;
  const occurredAt = new Date(body.occurred_at).toISOString();
  const { levels, problems } = request.view().levelsIn(body.levels);
  if (!inForce.treatments.includes(treatment)) problems.push(noSuchTreatment(inForce, treatment));
  if (occurredAt < study.registered.registeredAt)
    problems.push(`occurred_at is before the study was registered (${study.registered.registeredAt})`);
  const ofNewId = request.participants.find(id) ? undefined : newIdProblem(id);
  const problemOfId = ofNewId ?? patternProblem(id, inForce);
  if (problemOfId !== undefined) problems.push(`id ${problemOfId}`);
  if (problems.length === 0 && !isWithin(accepted.key.where, inForce, levels))
    throw outsideLimits(accepted.key.where, inForce);
  const { user } = accepted.key;
  const command: Force = {
    ...{ type: 'force', user, idempotencyKey: idempotencyKeyOf(http), amendment: inForce.amendment },
    ...{ participantId: id, levels, treatment, cause, code, occurredAt, replaces, note },
  };
  return { command, problems };
}

function noSuchTreatment({ treatments }: Design, treatment: string): string {
  const names = treatments.map((name) => JSON.stringify(name)).join(', ');
  return `the study has no treatment ${JSON.stringify(treatment)} (allowed: ${names})`;
}
