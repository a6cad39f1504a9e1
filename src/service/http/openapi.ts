/** Assembles the OpenAPI 3.1 document from the operations and schemas of the routes. */
import { CLIENT_ACTIONS, REFUSALS, type RefusalWord, refusalRow } from '../../base/refusals.ts';
import { Explanation } from '../../evidence/explain/explanation.ts';
import { ExpectedBalance } from '../../statistics/expected/band.ts';
import { envelopeOf, type Json, jsonSchema, ParticipantRecord } from './request/openapi-operation.ts';
import { PackOfVisit } from './request/study-view.ts';
import { DispensationResult } from './routes/act-routes.ts';
import { BalanceResult } from './routes/balance.ts';
import { CodeBreaksResult } from './routes/code-breaks.ts';
import { EnrolmentResult } from './routes/enrolment.ts';
import {
  CheckpointResult,
  ConsistencyProofResult,
  InclusionProofResult,
  RecordsResult,
} from './routes/ledger.ts';
import { OperationsResult } from './routes/operations.ts';
import { AccountabilityResult, CodesResult } from './routes/packs.ts';
import { ParticipantHistoryResult } from './routes/participant-history.ts';
import { SessionEndResult, SessionResult } from './routes/session.ts';
import {
  StudiesResult,
  StudyConfigurationResult,
  StudyDesignResult,
  StudyFormResult,
} from './routes/study.ts';
import { VerificationProgressResult, VerificationResult } from './routes/verification.ts';
import { ROUTES } from './routes.ts';

export function openApiDocument(version: string): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Randomization service',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: [
        "Randomizes participants of clinical trials with numpy's PCG64, by Wei's urn design (dynamic allocation that",
        'balances on factors, with one urn per level), permuted blocks, minimization or complete randomization, or by',
        'lists made elsewhere. Every response except this document, `/docs` and `/metrics` is an envelope with exactly the',
        'members `message`, `results` and `status`.',
        `\n\n## Refusals\n\nEvery answer of 400 or more says why in the header \`Urn-Refused\`:\n\n${refusalTable()}`,
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
      headers: {
        'Urn-Refused': {
          description:
            'Why the request is refused. The table at the top of this document says what to do about each.',
          schema: { type: 'string', enum: Object.keys(REFUSALS) },
        },
      },
      schemas: componentSchemas(),
    },
  };
}

const PATHS = Object.fromEntries(
  ROUTES.map(({ path, empty: _, ...methods }) => {
    const operations = Object.entries(methods).map(([method, [operation]]) => [
      method.toLowerCase(),
      operation,
    ]);
    return [path, Object.fromEntries(operations)];
  }),
);

const NO_ANSWER = `| | none, or no answer | it was not the service that answered | unknown | ${CLIENT_ACTIONS.ask} |`;

/** Which refusals may be retried, and what to do about the others: a table in Markdown, which docs/operations.md has, too. */
export function refusalTable(): string {
  const rows = Object.keys(REFUSALS).map((word) => {
    const { status, why, isUnclear, client } = refusalRow(word as RefusalWord);
    const recorded = isUnclear ? 'unknown' : 'no';
    return `| ${[status].flat().join(', ')} | \`${word}\` | ${why} | ${recorded} | ${CLIENT_ACTIONS[client]} |`;
  });
  const head = [
    '| Status | `Urn-Refused` | Why | Recorded by this attempt | What a client does |',
    '|---|---|---|---|---|',
  ];
  return [...head, ...rows, NO_ANSWER].join('\n');
}

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
    Explanation: jsonSchema(Explanation),
    Balance: jsonSchema(BalanceResult),
    ExpectedBalance: jsonSchema(ExpectedBalance),
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
