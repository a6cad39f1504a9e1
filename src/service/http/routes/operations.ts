/** GET /operations: who was refused, who was shown what, who signed in, and when the service ran. Reading this is not itself recorded. */
import { z } from 'zod';
import { Operation, operationOf, studyOf } from '../../operations/operation.ts';
import { OPERATIONS } from '../../operations/operations-stream.ts';
import { ERRORS, numberParameter, operation, ref, STUDY, URN_NEXT } from '../request/openapi-operation.ts';
import { numberOf, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { listJson, SUCCESS } from '../request/reply.ts';
import { keyHandler, requireScope, type Services, studyFor } from '../request/study-request.ts';

const PARAMETERS = new Set(['api_key', 'study', 'from']);

export const OperationsResult = z.array(Operation);

const EXAMPLE = [
  {
    revision: 1,
    at: '2026-02-21T08:17:01.330Z',
    type: 'RequestRefused',
    actor: { keyId: 'k5f1c09ab34d2', user: 'site-11', accessRevision: 0 },
    data: {
      operation: 'POST /study_participants',
      study: 'CHS JCOIN',
      reason: 'duplicate',
      count: 1999,
      firstAt: '2026-02-21T08:16:01.298Z',
      lastAt: '2026-02-21T08:17:00.911Z',
    },
  },
  {
    revision: 2,
    at: '2026-03-16T10:30:05.518Z',
    type: 'EvidenceDisclosed',
    actor: { keyId: 'k8d20e7713fa9', user: 'auditor', accessRevision: 2 },
    data: {
      what: 'explanation',
      study: 'CHS JCOIN',
      participant: '001-0001',
      count: 1,
      firstAt: '2026-03-16T10:30:05.517Z',
      lastAt: '2026-03-16T10:30:05.517Z',
    },
  },
];

export const operationsOperation = operation(
  'List refused requests, disclosures, sign-ins and sign-outs, and starts and stops of the service, in pages, oldest first',
  'operations',
  ['audit'],
  {
    parameters: [
      { ...STUDY, required: false, description: 'Only events that concern this study' },
      numberParameter(
        'from',
        false,
        'First revision of the stream `operations`, by default 0. The header Urn-Next says where the next page begins.',
      ),
    ],
    result: ref('Operations'),
    example: EXAMPLE,
    empty: [],
    headers: {
      'Urn-Revision': {
        description: 'The revision of the last event in the stream `operations`',
        schema: { type: 'integer' },
      },
      ...URN_NEXT,
    },
    errors: ERRORS,
  },
);

export function getOperations(services: Services) {
  return keyHandler(services, async ({ query, turn, accepted: { key } }, locals) => {
    const asked = query.get('study');
    if (asked !== undefined) locals.studyName = studyFor(services, key, asked).registered.configuration.name;
    requireScope(key, ['audit']);
    refuseProblems(unknownParameters(query, PARAMETERS, 'operations'));
    if (key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and the operations are of all');
    const revision = services.runner.revision(OPERATIONS);
    const from = numberOf(query, 'from', 0, Math.max(revision, 0), 0);
    const page = await turn.inOrder(() => services.history.events(OPERATIONS, from));
    // A key limited to some studies sees only what concerns them. Starts and stops concern no study.
    const only = asked === undefined ? key.studies : [asked];
    const shown = only ? page.filter((event) => only.includes(studyOf(event) ?? '')) : page;
    const next = (page.at(-1)?.revision ?? revision) + 1;
    const headers: Record<string, string> = next <= revision ? { 'Urn-Next': String(next) } : {};
    const results = listJson<unknown>(OperationsResult, shown.map(operationOf));
    return { status: 200, message: SUCCESS, results, revision, headers };
  });
}
