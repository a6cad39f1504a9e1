/** The routes by which acts are asked for: what cannot be derived from the acts. */
import { z } from 'zod';
import type { FactOf } from '../../../../events/define.ts';
import type { DispensationCorrected } from '../../../../events/packs.ts';
import type { ActName } from '../../../core/acts/acts.ts';
import { type Members, STATUSES, type StudyOutcome } from '../../../core/model/outcomes.ts';
import type { ActResults, ActRoute } from '../request/act-route.ts';
import { recordFor } from '../request/command-reply.ts';
import {
  ERRORS,
  EXAMPLE_RECORD,
  FORBIDDEN_NOW,
  jsonSchema,
  NOT_FOUND,
  RECORDS,
  ref,
} from '../request/openapi-operation.ts';
import { resultJson } from '../request/reply.ts';

/** The participant's record as it is now. */
const RECORD: ActResults = {
  schema: RECORDS,
  example: [EXAMPLE_RECORD],
  empty: '[]',
  of: (request) => recordFor(request, String(request.body['id'])),
};

const REUSED = 'Or the Idempotency-Key was used for a different request';
const CORRECTION_ERRORS = {
  404: NOT_FOUND,
  409: 'What the request corrects is not, or no longer, as it says; the message gives the current state',
  422: `Well-formed, but impossible in this study; the message says why. ${REUSED}`,
};

const VOIDING_ERRORS = {
  ...CORRECTION_ERRORS,
  403: `${ERRORS[403]}; or its user randomized the participant, in a live study: ask a second person`,
};

const STATE_AFTER = { close: 'closed', reopen: 'open', pause: 'paused', resume: 'open' } as const;
const StateResult = z.strictObject({ state: z.enum(STATUSES) });

const ReplacementResult = z.strictObject({
  code: z.string().meta({ description: 'The pack that the participant had' }),
  by: z.string().meta({ description: 'The pack that the participant got instead, by this request' }),
});
export const DispensationResult = z.strictObject({
  visit: z.string().meta({ description: 'The visit, as the study spells it' }),
  code: z.string().meta({ description: 'The pack that the participant got, by this request' }),
});
const VisitOfPack = z.string().nullable();
const DispensationCorrectionResult = z.strictObject({
  code: z.string(),
  from: VisitOfPack.meta({ description: 'The visit until here; null if the pack was not theirs' }),
  to: VisitOfPack.meta({ description: 'The visit from here on; null if the pack is not theirs' }),
});
const WithdrawalResult = z.strictObject({ withdrawn: z.int() });

type DispensationCorrection = FactOf<typeof DispensationCorrected>['data'];

const ROUTES = {
  LevelsCorrected: {
    path: '/level_corrections',
    operationId: 'correctLevels',
    summary: 'Correct levels of a participant',
    acts: 'LevelsCorrected',
    example: {
      id: '001-0007',
      changes: [{ factor: 'sex', from: 'Female', to: 'Male' }],
      cause: 'entry',
      note: 'source record of 3 March',
    },
    results: RECORD,
    errors: CORRECTION_ERRORS,
  },
  AllocationVoided: {
    path: '/voids',
    operationId: 'voidAllocation',
    summary: 'Mark a participant as randomized in error',
    acts: 'AllocationVoided',
    example: {
      id: '001-0009',
      cause: 'duplicate',
      duplicate_of: '001-0004',
      analysis: 'exclude',
      note: 'screened twice',
    },
    results: RECORD,
    errors: VOIDING_ERRORS,
  },
  AllocationReinstated: {
    path: '/reinstatements',
    operationId: 'reinstateAllocation',
    summary: 'Undo the voiding of a participant',
    acts: 'AllocationReinstated',
    example: { id: '001-0009', note: 'was another person' },
    results: RECORD,
    errors: VOIDING_ERRORS,
  },
  ParticipantIdCorrected: {
    path: '/id_corrections',
    operationId: 'correctId',
    summary: 'Correct the id of a participant',
    acts: 'ParticipantIdCorrected',
    example: { id: '001-0070', to: '001-0007', cause: 'entry' },
    results: RECORD,
    errors: CORRECTION_ERRORS,
  },
  UnblindingReported: {
    path: '/unblindings',
    operationId: 'reportUnblinding',
    summary: 'Report that a participant was unblinded outside the service, or in error',
    acts: 'UnblindingReported',
    example: {
      id: '001-0007',
      occurred_at: '2026-03-02T21:40:00Z',
      how: 'envelope',
      inadvertent: true,
      reason: 'the envelope was torn in the post',
    },
    results: { ...RECORD, example: [] },
    errors: {
      404: NOT_FOUND,
      422: `revealed_at is not a code-break of this participant. ${REUSED}`,
    },
  },
  CodeReplaced: {
    path: '/code_replacements',
    operationId: 'replaceCode',
    summary: 'Give a participant another pack of the same treatment',
    acts: 'CodeReplaced',
    example: { id: '001-0007', code: 'AF5-0017', cause: 'damaged' },
    results: {
      schema: jsonSchema(ReplacementResult),
      example: { code: 'AF5-0017', by: 'AF5-0021' },
      empty: '{}',
      // The pack of this event: the participant may have had another one since.
      of: ({ body }, outcome) =>
        resultJson(ReplacementResult, { code: String(body['code']), by: String(recorded(outcome)['by']) }),
    },
    errors: {
      404: NOT_FOUND,
      409: FORBIDDEN_NOW,
      422: `The packs of this participant were replaced too often without a key with the scope \`supply\`. ${REUSED}`,
    },
  },
  PackDispensed: {
    path: '/dispensations',
    operationId: 'dispensePack',
    summary: 'Give a participant a pack of their treatment at a visit',
    acts: 'PackDispensed',
    example: { id: '001-0007', visit: 'V2' },
    results: {
      schema: ref('Dispensation'),
      example: { visit: 'V2', code: 'AF5-0036' },
      empty: '{}',
      // The pack of this event: it may have been replaced since.
      of: (_, outcome) => {
        const { visit, code } = recorded(outcome);
        return resultJson(DispensationResult, { visit: String(visit), code: String(code) });
      },
    },
    errors: {
      400: 'The body is malformed; the study has no such visit, and the key has not the scope `supply`; or the participant has a pack for the visit already. `results` then names it, for keys with `read`, `blinded` or `supply`',
      404: NOT_FOUND,
      409: FORBIDDEN_NOW,
      422: `The participant had too many further packs for a key without the scope \`supply\`. ${REUSED}`,
    },
  },
  DispensationCorrected: {
    path: '/dispensation_corrections',
    operationId: 'correctDispensation',
    summary: 'Correct the visit of a pack, or record that the participant never got it',
    acts: 'DispensationCorrected',
    example: {
      id: '001-0007',
      code: 'AF5-0036',
      to: 'V3',
      cause: 'entry',
      note: 'wrong line of the visit plan',
    },
    results: {
      schema: jsonSchema(DispensationCorrectionResult),
      example: { code: 'AF5-0036', from: 'V2', to: 'V3' },
      empty: '{}',
      of: (_, outcome) => {
        const { code, from = null, to = null } = recorded(outcome) as DispensationCorrection;
        return resultJson(DispensationCorrectionResult, { code, from, to });
      },
    },
    errors: {
      ...CORRECTION_ERRORS,
      400: 'The body is malformed, or the study has no such visit and the key has not the scope `supply`',
    },
  },
  CodesWithdrawn: {
    path: '/code_withdrawals',
    operationId: 'withdrawCodes',
    summary: 'Withdraw packs that nobody has',
    acts: 'CodesWithdrawn',
    example: { codes: ['AF5-0018'], reason: 'the cold chain was broken' },
    results: {
      schema: jsonSchema(WithdrawalResult),
      example: { withdrawn: 1 },
      empty: '{}',
      of: ({ body }) => resultJson(WithdrawalResult, { withdrawn: (body['codes'] as string[]).length }),
    },
    errors: {
      409: FORBIDDEN_NOW,
      422: `A pack is unknown, is not free, or is for other levels than those of the key. ${REUSED}`,
    },
  },
  StudyClosed: {
    path: '/study_state',
    operationId: 'setStudyState',
    summary: 'Close, reopen, pause or resume a study',
    acts: { close: 'StudyClosed', reopen: 'StudyReopened', pause: 'StudyPaused', resume: 'StudyResumed' },
    example: {
      action: 'close',
      cause: 'target',
      reason: '300 randomized',
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-09-01' }],
    },
    results: {
      schema: jsonSchema(StateResult),
      example: { state: 'closed' },
      empty: '{}',
      // Not the state of now: another process may have changed it since, or before a repeated request.
      of: ({ body }) =>
        resultJson(StateResult, { state: STATE_AFTER[body['action'] as keyof typeof STATE_AFTER] }),
    },
    errors: {
      409: 'The state of the study does not allow it: a closed study must be reopened before it can be paused or resumed, and a paused one is resumed, not reopened',
      422: `Well-formed, but impossible: to reopen a live study without an approval, for example. ${REUSED}`,
    },
  },
  StudyReopened: 'StudyClosed',
  StudyPaused: 'StudyClosed',
  StudyResumed: 'StudyClosed',
  // GET and POST /code_breaks are in code-breaks.ts.
  AllocationRevealed: undefined,
} satisfies Readonly<Record<ActName, ActRoute | ActName | undefined>>;

/** A name stands for the row of another act, with which an act shares its route. */
export const ACT_ROUTES: readonly ActRoute[] = Object.values(ROUTES).filter((row) => typeof row === 'object');

/** What this request recorded, or the same one before. */
function recorded(outcome: StudyOutcome): Members {
  if ('data' in outcome && outcome.data) return outcome.data;
  throw new Error(`nothing was recorded: ${outcome.type}`);
}
