/** GET /study_design: the design in force, the state of the study, and how far its limits are reached. */

import { z } from 'zod';
import { STATUSES } from '../../../core/model/outcomes.ts';
import { headCount } from '../../../core/model/participants.ts';
import {
  DesignInForce,
  designInForce,
  LimitInForce,
  limitsInForce,
} from '../../../core/study/public-design.ts';
import { MIN_REVISION, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import { HEADS, resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { studyHandler } from '../request/study-request.ts';

const SCOPES = ['read', 'blinded'] as const;
const PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);

export const StudyDesignResult = z.strictObject({
  mode: z.enum(['test', 'live']),
  state: z.enum(STATUSES),
  reason: z.string().optional().meta({ description: 'Why the study is not open' }),
  since: z.string().optional(),
  enrolled: z.int().optional().meta({ description: 'Absent for a key that is limited to some levels' }),
  voided: HEADS.voided.optional(),
  filled: HEADS.filled.optional(),
  limits: z.array(LimitInForce),
  imported: z
    .strictObject({
      participants: z.int(),
      redrawn: z.int().meta({ description: 'How many of them were drawn again with the same result' }),
      at: z.string().meta({ description: 'When the import began, in ISO 8601 (UTC)' }),
    })
    .optional()
    .meta({ description: 'A history from another system. Absent for a key that is limited to some levels' }),
  design: DesignInForce,
});
type StudyDesignResult = z.infer<typeof StudyDesignResult>;

const EXAMPLE: StudyDesignResult = {
  mode: 'live',
  state: 'open',
  enrolled: 118,
  voided: 3,
  filled: 116,
  limits: [
    { max: 300, enrolled: 116 },
    { factor: 'local_site', level: '30-Dupage County', max: 40, enrolled: 21 },
  ],
  design: {
    treatments: ['MART', 'RMC-Q', 'RMC-A'],
    closed_treatments: [],
    epoch: 0,
    amendment: 0,
    factors: [
      {
        name: 'sex',
        retired: false,
        levels: [
          { name: 'Male', earlier_names: [], closed: false },
          { name: 'Female', earlier_names: [], closed: false },
        ],
      },
    ],
    D: 'chisquare',
    w: 1,
    alpha: 0,
    beta: 1,
    blinding: 'blinded',
    policies: {
      stop_at_limit: true,
      level_counts: 'as-corrected',
      void_counts: 'kept',
      forced_counts: 'counted',
    },
    protocol: { version: '2.0', date: '2027-01-10' },
  },
};

export const studyDesignOperation = operation(
  'Show the design in force, the state and the limits of a study',
  'studyDesign',
  SCOPES,
  {
    parameters: [STUDY, MIN_REVISION],
    result: ref('StudyDesign'),
    example: EXAMPLE,
    empty: {},
    errors: ERRORS,
  },
);

export function getStudyDesign(services: Services) {
  return studyHandler(services, SCOPES, (request) => {
    const {
      query,
      study,
      accepted: { key },
    } = request;
    refuseProblems(unknownParameters(query, PARAMETERS, 'study_design'));
    const { halt, configuration, imported } = study.registered;
    const inForce = request.design();
    // A key that is limited to a site does not learn how many the others have.
    const { inOrder } = request.participants;
    const shown: StudyDesignResult = {
      mode: configuration.mode,
      state: halt?.state ?? 'open',
      ...(halt && { reason: halt.reason, since: halt.at }),
      ...(!key.where && headCount(inOrder)),
      limits: limitsInForce(inForce, key.where ? undefined : inOrder),
      ...(imported &&
        !key.where && {
          imported: {
            participants: imported.redrawn + imported.unproven,
            redrawn: imported.redrawn,
            at: imported.at,
          },
        }),
      design: designInForce(inForce),
    };
    const results = resultJson(StudyDesignResult, shown);
    return { status: 200, message: SUCCESS, results, revision: study.revision };
  });
}
