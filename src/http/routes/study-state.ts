/** POST /study_state: closes, reopens, pauses or resumes a study. */
import { z } from 'zod';
import { ClosingCause } from '../../../events/study-state.ts';
import { ACTS, STATUSES } from '../../study/acts.ts';
import type { LifeCommand, StudyOutcome } from '../../study/commands.ts';
import { STATE_AFTER } from '../../study/decide-life.ts';
import { Approvals, DryRun, ProtocolVersion, StudyName, StudyReason } from '../request/body-members.ts';
import { idempotencyKeyOf } from '../request/headers.ts';
import { answerCommand } from '../request/life-command.ts';
import { bodyOperation, ERRORS, jsonSchema } from '../request/operation.ts';
import { ACT_HEADERS } from '../request/receipt.ts';
import { impossibleReply, reusedReply } from '../request/refused-reply.ts';
import { resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { type BodyRequest, bodyHandler, type StudyReply } from '../request/study-request.ts';

const common = { study: StudyName, reason: StudyReason, dry_run: DryRun };

const Body = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('close'),
    ...common,
    cause: ClosingCause.meta({ description: 'Why the study takes no more participants' }),
    approvals: Approvals.optional(),
  }),
  z.strictObject({
    action: z.literal('reopen'),
    ...common,
    approvals: Approvals.optional().meta({
      description: 'Who decided this outside the system: at least one in a live study',
    }),
    protocol: ProtocolVersion.optional().meta({
      description: 'The version of the protocol from here on',
    }),
  }),
  z.strictObject({ action: z.enum(['pause', 'resume']), ...common }),
]);
type Body = z.infer<typeof Body>;

const StateResult = z.strictObject({ state: z.enum(STATUSES) });

export const studyStateOperation = bodyOperation(
  'Close, reopen, pause or resume a study',
  'setStudyState',
  ACTS.StudyClosed.scopes,
  {
    body: jsonSchema(Body),
    bodyExample: {
      study: 'CHS JCOIN',
      action: 'close',
      cause: 'target',
      reason: '300 randomized',
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-09-01' }],
    },
    result: jsonSchema(StateResult),
    example: { state: 'closed' },
    empty: {},
    headers: ACT_HEADERS,
    errors: {
      ...ERRORS,
      409: 'The state of the study does not allow it: a closed study must be reopened before it can be paused or resumed, and a paused one is resumed, not reopened',
      422: 'Well-formed, but impossible: to reopen a live study without an approval, for example. Or the Idempotency-Key was used for a different request',
    },
  },
);

export function postStudyState(services: Services) {
  return bodyHandler(services, Body, ACTS.StudyClosed.scopes, (request) => {
    // Not the state of now: another process may have changed it since, or before a repeated request.
    const state = STATE_AFTER[request.body.action];
    return answerCommand(services, request, commandOf(request), {
      problemOf,
      results: () => resultJson(StateResult, { state }),
    });
  });
}

function commandOf({ http, accepted: { key }, body }: BodyRequest<Body>): LifeCommand {
  const asked = { user: key.user, idempotencyKey: idempotencyKeyOf(http), reason: body.reason };
  const askedAt = new Date().toISOString();
  switch (body.action) {
    case 'close': {
      const { cause, approvals = [] } = body;
      return { type: 'close', ...asked, askedAt, cause, ...(approvals.length > 0 && { approvals }) };
    }
    case 'reopen': {
      const { approvals = [], protocol } = body;
      return { type: 'reopen', ...asked, askedAt, approvals, protocol };
    }
    default:
      return { type: body.action, ...asked };
  }
}

const HINTS: Partial<Record<string, string>> = {
  closed: 'reopen it first',
  importing: 'wait until the history is in',
};

/** The answer when the study does not become, or is not already, what was asked for. */
function problemOf(outcome: StudyOutcome, revision: number): StudyReply | undefined {
  switch (outcome.type) {
    case 'refused': {
      const { because } = outcome;
      const hint = HINTS[because] ?? 'resume it, or close it';
      return {
        status: 409,
        message: `The study is ${because} (${hint})`,
        results: '{}',
        revision,
        refused: because === 'closed' || because === 'importing' ? because : 'paused',
      };
    }
    case 'impossible':
      return impossibleReply(outcome, revision, '{}');
    case 'idempotency-key-reused':
      return { ...reusedReply(revision), results: '{}' };
    default:
      return undefined;
  }
}
