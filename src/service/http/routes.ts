/** Every route of the API but those of the pages: by method, its operation in the OpenAPI document and its handler. */
import type { Request, Response } from 'express';
import { actHandler, actOperation } from './request/act-route.ts';
import type { Locals } from './request/locals.ts';
import type { Json } from './request/operation.ts';
import { ACT_ROUTES } from './routes/act-routes.ts';
import { amendOperation, postAmendment } from './routes/amendments.ts';
import { balanceOperation, getBalance } from './routes/balance.ts';
import { bundleOperation, getBundle } from './routes/bundle.ts';
import { type ChangeServices, changesOperation, getChanges } from './routes/changes.ts';
import { checkpointOperation, getCheckpoint } from './routes/checkpoint.ts';
import {
  breakCodeOperation,
  listCodeBreaks,
  listCodeBreaksOperation,
  postCodeBreak,
} from './routes/code-breaks.ts';
import { listCodes, listCodesOperation } from './routes/codes.ts';
import { consistencyProofOperation, getConsistencyProof } from './routes/consistency-proof.ts';
import { enrolmentOperation, getEnrolment } from './routes/enrolment.ts';
import { expectedBalanceOperation, getExpectedBalance } from './routes/expected-balance.ts';
import { explanationOperation, getExplanation } from './routes/explanation.ts';
import { forceOperation, postForcedAllocation } from './routes/forced-allocations.ts';
import { getHealth, healthOperation } from './routes/health.ts';
import { getInclusionProof, inclusionProofOperation } from './routes/inclusion-proof.ts';
import { listParticipants, listParticipantsOperation } from './routes/list-participants.ts';
import { listStudies, listStudiesOperation } from './routes/list-studies.ts';
import { getOperations, operationsOperation } from './routes/operations.ts';
import { accountabilityOperation, listAccountability } from './routes/pack-accountability.ts';
import { getParticipantHistory, participantHistoryOperation } from './routes/participant-history.ts';
import { randomizeParticipant, randomizeParticipantOperation } from './routes/randomize-participant.ts';
import { getReadiness, type ReadinessParts, readinessOperation } from './routes/readiness.ts';
import { getRecords, recordsOperation } from './routes/records.ts';
import {
  deleteSession,
  deleteSessionOperation,
  getSession,
  getSessionOperation,
  postSession,
  postSessionOperation,
  type SessionServices,
} from './routes/session.ts';
import { getStudyConfig, studyConfigOperation } from './routes/study-config.ts';
import { getStudyDesign, studyDesignOperation } from './routes/study-design.ts';
import { getStudyForm, studyFormOperation } from './routes/study-form.ts';
import { getVerification, verificationOperation } from './routes/verification.ts';
import { getVerificationProgress, verificationProgressOperation } from './routes/verification-progress.ts';

/** What the routes need. */
export type RouteParts = SessionServices & ChangeServices & ReadinessParts;
export type Handler = (request: Request, response: Response) => void | Promise<void>;
type Served = readonly [operation: Json, handler: (parts: RouteParts) => Handler];

export interface Route {
  readonly path: string;
  /** `results` of an error. */
  readonly empty: Locals['emptyResults'];
  readonly GET?: Served;
  readonly POST?: Served;
  readonly DELETE?: Served;
}

export const ROUTES: readonly Route[] = [
  { path: '/changes', empty: '{}', GET: [changesOperation, getChanges] },
  {
    path: '/session',
    empty: '{}',
    GET: [getSessionOperation, getSession],
    POST: [postSessionOperation, postSession],
    DELETE: [deleteSessionOperation, deleteSession],
  },
  { path: '/studies', empty: '[]', GET: [listStudiesOperation, listStudies] },
  { path: '/study_config', empty: '{}', GET: [studyConfigOperation, getStudyConfig] },
  {
    path: '/study_participants',
    empty: '[]',
    GET: [listParticipantsOperation, listParticipants],
    POST: [randomizeParticipantOperation, randomizeParticipant],
  },
  { path: '/study_design', empty: '{}', GET: [studyDesignOperation, getStudyDesign] },
  { path: '/study_form', empty: '{}', GET: [studyFormOperation, getStudyForm] },
  { path: '/enrolment', empty: '{}', GET: [enrolmentOperation, getEnrolment] },
  {
    path: '/code_breaks',
    empty: '[]',
    GET: [listCodeBreaksOperation, listCodeBreaks],
    POST: [breakCodeOperation, postCodeBreak],
  },
  { path: '/codes', empty: '{}', GET: [listCodesOperation, listCodes] },
  { path: '/pack_accountability', empty: '[]', GET: [accountabilityOperation, listAccountability] },
  { path: '/forced_allocations', empty: '[]', POST: [forceOperation, postForcedAllocation] },
  { path: '/amendments', empty: '{}', POST: [amendOperation, postAmendment] },
  { path: '/participant_history', empty: '[]', GET: [participantHistoryOperation, getParticipantHistory] },
  ...ACT_ROUTES.map((row) => ({
    ...{ path: row.path, empty: row.results.empty },
    POST: [actOperation(row), (parts: RouteParts) => actHandler(parts, row)] as const,
  })),
  { path: '/records', empty: '[]', GET: [recordsOperation, getRecords] },
  { path: '/operations', empty: '[]', GET: [operationsOperation, getOperations] },
  { path: '/verification', empty: '[]', GET: [verificationOperation, getVerification] },
  {
    path: '/verification_progress',
    empty: '{}',
    GET: [verificationProgressOperation, getVerificationProgress],
  },
  { path: '/bundle', empty: '[]', GET: [bundleOperation, getBundle] },
  { path: '/checkpoint', empty: '{}', GET: [checkpointOperation, getCheckpoint] },
  { path: '/inclusion_proof', empty: '{}', GET: [inclusionProofOperation, getInclusionProof] },
  { path: '/consistency_proof', empty: '{}', GET: [consistencyProofOperation, getConsistencyProof] },
  { path: '/explanation', empty: '[]', GET: [explanationOperation, getExplanation] },
  { path: '/balance', empty: '[]', GET: [balanceOperation, getBalance] },
  { path: '/expected_balance', empty: '{}', GET: [expectedBalanceOperation, getExpectedBalance] },
  { path: '/healthz', empty: '[]', GET: [healthOperation, () => getHealth] },
  { path: '/readyz', empty: '[]', GET: [readinessOperation, getReadiness] },
];
