/** Assembles the OpenAPI 3.1 document from the operations and schemas of the routes. */

import { actOperation } from './request/act-route.ts';
import { envelopeOf, type Json, jsonSchema } from './request/operation.ts';
import { PackOfVisit } from './request/schemas.ts';
import { ACT_ROUTES, DispensationResult } from './routes/act-routes.ts';
import { amendOperation } from './routes/amendments.ts';
import { BalanceResult, balanceOperation } from './routes/balance.ts';
import { bundleOperation } from './routes/bundle.ts';
import { changesOperation } from './routes/changes.ts';
import { CheckpointResult, checkpointOperation } from './routes/checkpoint.ts';
import { breakCodeOperation, CodeBreaksResult, listCodeBreaksOperation } from './routes/code-breaks.ts';
import { CodesResult, listCodesOperation } from './routes/codes.ts';
import { ConsistencyProofResult, consistencyProofOperation } from './routes/consistency-proof.ts';
import { EnrolmentResult, enrolmentOperation } from './routes/enrolment.ts';
import { ExpectedBalanceResult, expectedBalanceOperation } from './routes/expected-balance.ts';
import { ExplanationResult, explanationOperation } from './routes/explanation.ts';
import { forceOperation } from './routes/forced-allocations.ts';
import { healthOperation } from './routes/health.ts';
import { InclusionProofResult, inclusionProofOperation } from './routes/inclusion-proof.ts';
import { listParticipantsOperation } from './routes/list-participants.ts';
import { listStudiesOperation, StudiesResult } from './routes/list-studies.ts';
import { OperationsResult, operationsOperation } from './routes/operations.ts';
import { AccountabilityResult, accountabilityOperation } from './routes/pack-accountability.ts';
import { ParticipantHistoryResult, participantHistoryOperation } from './routes/participant-history.ts';
import { ParticipantRecord } from './routes/participant-parts.ts';
import { randomizeParticipantOperation } from './routes/randomize-participant.ts';
import { readinessOperation } from './routes/readiness.ts';
import { RecordsResult, recordsOperation } from './routes/records.ts';
import {
  deleteSessionOperation,
  getSessionOperation,
  postSessionOperation,
  SessionEndResult,
  SessionResult,
} from './routes/session.ts';
import { StudyConfigurationResult, studyConfigOperation } from './routes/study-config.ts';
import { StudyDesignResult, studyDesignOperation } from './routes/study-design.ts';
import { StudyFormResult, studyFormOperation } from './routes/study-form.ts';
import { VerificationResult, verificationOperation } from './routes/verification.ts';
import { VerificationProgressResult, verificationProgressOperation } from './routes/verification-progress.ts';

export function openApiDocument(version: string): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Randomization service',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: [
        "Randomizes participants of clinical trials with Wei's urn design and numpy's PCG64. The method is dynamic",
        'allocation that balances on factors, with one urn per level. Every response except this document, `/docs` and',
        '`/metrics` is an envelope with exactly the members `message`, `results` and `status`.',
      ].join(' '),
    },
    security: [{ query: [] }, { bearer: [] }, { header: [] }, { session: [] }],
    paths: PATHS,
    components: {
      securitySchemes: {
        query: { type: 'apiKey', in: 'query', name: 'api_key' },
        bearer: { type: 'http', scheme: 'bearer' },
        header: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-urn-<8 hex digits>',
          description:
            'The cookie that `POST /session` sets. It counts only if `Sec-Fetch-Site` is `same-origin` or `Origin` is that of the service: a wrong value of either is answered with 403, and POST and DELETE need one of the two. Together with an API key, the cookie is answered with 400.',
        },
      },
      schemas: componentSchemas(),
    },
  };
}

const PATHS = {
  '/changes': { get: changesOperation },
  '/session': { get: getSessionOperation, post: postSessionOperation, delete: deleteSessionOperation },
  '/studies': { get: listStudiesOperation },
  '/study_config': { get: studyConfigOperation },
  '/study_participants': { get: listParticipantsOperation, post: randomizeParticipantOperation },
  '/study_design': { get: studyDesignOperation },
  '/study_form': { get: studyFormOperation },
  '/enrolment': { get: enrolmentOperation },
  '/code_breaks': { get: listCodeBreaksOperation, post: breakCodeOperation },
  '/codes': { get: listCodesOperation },
  '/pack_accountability': { get: accountabilityOperation },
  '/forced_allocations': { post: forceOperation },
  '/amendments': { post: amendOperation },
  '/participant_history': { get: participantHistoryOperation },
  ...Object.fromEntries(ACT_ROUTES.map((row) => [row.path, { post: actOperation(row) }])),
  '/records': { get: recordsOperation },
  '/operations': { get: operationsOperation },
  '/verification': { get: verificationOperation },
  '/verification_progress': { get: verificationProgressOperation },
  '/bundle': { get: bundleOperation },
  '/checkpoint': { get: checkpointOperation },
  '/inclusion_proof': { get: inclusionProofOperation },
  '/consistency_proof': { get: consistencyProofOperation },
  '/explanation': { get: explanationOperation },
  '/balance': { get: balanceOperation },
  '/expected_balance': { get: expectedBalanceOperation },
  '/healthz': { get: healthOperation },
  '/readyz': { get: readinessOperation },
};

/** The schemas that operations refer to by name. */
function componentSchemas(): Json {
  return {
    Studies: jsonSchema(StudiesResult),
    StudyConfiguration: jsonSchema(StudyConfigurationResult),
    ParticipantRecord: jsonSchema(ParticipantRecord),
    Records: jsonSchema(RecordsResult),
    Operations: jsonSchema(OperationsResult),
    Verification: jsonSchema(VerificationResult),
    VerificationProgress: jsonSchema(VerificationProgressResult),
    Checkpoint: jsonSchema(CheckpointResult),
    InclusionProof: jsonSchema(InclusionProofResult),
    Session: jsonSchema(SessionResult),
    SessionEnd: jsonSchema(SessionEndResult),
    ConsistencyProof: jsonSchema(ConsistencyProofResult),
    Explanation: jsonSchema(ExplanationResult),
    Balance: jsonSchema(BalanceResult),
    ExpectedBalance: jsonSchema(ExpectedBalanceResult),
    StudyDesign: jsonSchema(StudyDesignResult),
    StudyForm: jsonSchema(StudyFormResult),
    Enrolment: jsonSchema(EnrolmentResult),
    Codes: jsonSchema(CodesResult),
    Accountability: jsonSchema(AccountabilityResult),
    Dispensation: jsonSchema(DispensationResult),
    PackOfVisit: jsonSchema(PackOfVisit),
    CodeBreaks: jsonSchema(CodeBreaksResult),
    ParticipantHistory: jsonSchema(ParticipantHistoryResult),
    Error: envelopeOf({ description: 'Empty, except when the participant is already assigned' }),
  };
}
