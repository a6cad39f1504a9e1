/** Every route of the API but those of the pages: by method, its operation in the OpenAPI document and its handler. */
import type { Request, Response } from 'express';
import { actHandler, actOperation } from './request/act-route.ts';
import type { Locals } from './request/observation.ts';
import type { Json } from './request/openapi-operation.ts';
import { ACT_ROUTES } from './routes/act-routes.ts';
import { amendOperation, postAmendment } from './routes/amendments.ts';
import {
  balanceOperation,
  expectedBalanceOperation,
  getBalance,
  getExpectedBalance,
} from './routes/balance.ts';
import { bundleOperation, getBundle } from './routes/bundle.ts';
import { type ChangeServices, changesOperation, getChanges } from './routes/changes.ts';
import {
  breakCodeOperation,
  listCodeBreaks,
  listCodeBreaksOperation,
  postCodeBreak,
} from './routes/code-breaks.ts';
import { enrolmentOperation, getEnrolment } from './routes/enrolment.ts';
import { explanationOperation, getExplanation } from './routes/explanation.ts';
import { forceOperation, postForcedAllocation } from './routes/forced-allocations.ts';
import {
  checkpointOperation,
  consistencyProofOperation,
  getCheckpoint,
  getConsistencyProof,
  getInclusionProof,
  getRecords,
  inclusionProofOperation,
  recordsOperation,
} from './routes/ledger.ts';
import { listParticipants, listParticipantsOperation } from './routes/list-participants.ts';
import { getOperations, operationsOperation } from './routes/operations.ts';
import {
  accountabilityOperation,
  listAccountability,
  listCodes,
  listCodesOperation,
} from './routes/packs.ts';
import { getParticipantHistory, participantHistoryOperation } from './routes/participant-history.ts';
import {
  getHealth,
  getReadiness,
  healthOperation,
  type ReadinessParts,
  readinessOperation,
} from './routes/probes.ts';
import { randomizeParticipant, randomizeParticipantOperation } from './routes/randomize-participant.ts';
import {
  deleteSession,
  deleteSessionOperation,
  getSession,
  getSessionOperation,
  postSession,
  postSessionOperation,
  type SessionServices,
} from './routes/session.ts';
import {
  getStudyConfig,
  getStudyDesign,
  getStudyForm,
  listStudies,
  listStudiesOperation,
  studyConfigOperation,
  studyDesignOperation,
  studyFormOperation,
} from './routes/study.ts';
import {
  getVerification,
  getVerificationProgress,
  verificationOperation,
  verificationProgressOperation,
} from './routes/verification.ts';

/** What the routes need. */
export type RouteParts = SessionServices & ChangeServices & ReadinessParts;
export type Handler = (request: Request, response: Response) => void | Promise<void>;
type Served = readonly [operation: Json, handler: (parts: RouteParts) => Handler];

interface Route {
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
