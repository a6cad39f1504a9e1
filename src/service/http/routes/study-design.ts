/** GET /study_design: the design in force, the state of the study, and how far its limits are reached. */

import { z } from 'zod';
import { type Design, type Factor, hasRatio, ratioOf } from '../../../../projections/design.ts';
import { currentLevels } from '../../../../projections/enrolled.ts';
import { headCount } from '../../../../projections/head-count.ts';
import type { Participant } from '../../../core/model/participants.ts';
import { STATUSES } from '../../../core/model/status.ts';
import { MIN_REVISION, STUDY } from '../request/documented-parameters.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import { HEADS, ProtocolResult, resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { studyHandler } from '../request/study-request.ts';

const SCOPES = ['read', 'blinded'] as const;
const PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);

const Limit = z.strictObject({
  factor: z.string().optional().meta({ description: 'Absent for the limit of the whole study' }),
  level: z.string().optional(),
  max: z.int(),
  enrolled: z.int().optional().meta({
    description: 'How many fill a place. Absent for a key that is limited to some levels',
  }),
});

/** The design in force, with its defaults written out. */
export const DesignResult = z.strictObject({
  treatments: z.array(z.string()),
  closed_treatments: z.array(z.string()).meta({ description: 'They take no new participants' }),
  stopped_treatments: z.array(z.string()).optional().meta({
    description: 'Those of the closed ones on which nobody gets packs any more; absent: none',
  }),
  ratio: z.array(z.int()).optional().meta({
    description: 'How many slots each of `treatments` has in an urn; absent: one each',
  }),
  epoch: z.int().meta({ description: 'How often the urns began anew; 0: never' }),
  amendment: z.int().meta({ description: 'Number of the last amendment; 0 if there is none' }),
  factors: z.array(
    z.strictObject({
      name: z.string(),
      retired: z.boolean().meta({
        description: 'New participants have no level of it, and its urns are never drawn from',
      }),
      levels: z.array(
        z.strictObject({
          name: z.string(),
          earlier_names: z.array(z.string()),
          closed: z.boolean().meta({ description: 'It takes no new participants' }),
        }),
      ),
    }),
  ),
  D: z.string(),
  w: z.int(),
  alpha: z.int(),
  beta: z.int(),
  id_pattern: z.string().optional(),
  target: z.int().optional(),
  blinding: z.enum(['open', 'blinded']),
  policies: z.strictObject({
    stop_at_limit: z.boolean(),
    level_counts: z.enum(['as-randomized', 'as-corrected']),
    void_counts: z.enum(['kept', 'removed']),
    forced_counts: z.enum(['counted', 'not-counted']),
  }),
  protocol: ProtocolResult.optional(),
  visits: z.array(z.string()).optional().meta({
    description: 'The visits at which participants get packs; absent: none',
  }),
});
export type DesignResult = z.infer<typeof DesignResult>;
type FactorShown = DesignResult['factors'][number];

export const StudyDesignResult = z.strictObject({
  mode: z.enum(['test', 'live']),
  state: z.enum(STATUSES),
  reason: z.string().optional().meta({ description: 'Why the study is not open' }),
  since: z.string().optional(),
  enrolled: z.int().optional().meta({ description: 'Absent for a key that is limited to some levels' }),
  voided: HEADS.voided.optional(),
  filled: HEADS.filled.optional(),
  limits: z.array(Limit),
  imported: z
    .strictObject({
      participants: z.int(),
      redrawn: z.int().meta({ description: 'How many of them were drawn again with the same result' }),
      at: z.string().meta({ description: 'When the import began, in ISO 8601 (UTC)' }),
    })
    .optional()
    .meta({ description: 'A history from another system. Absent for a key that is limited to some levels' }),
  design: DesignResult,
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
      limits: limitsOf(inForce, key.where ? undefined : inOrder),
      ...(imported &&
        !key.where && {
          imported: {
            participants: imported.redrawn + imported.unproven,
            redrawn: imported.redrawn,
            at: imported.at,
          },
        }),
      design: designShown(inForce),
    };
    const results = resultJson(StudyDesignResult, shown);
    return { status: 200, message: SUCCESS, results, revision: study.revision };
  });
}

/** @param all participants; undefined if the key may not know how many there are */
function limitsOf(
  { limits: { total, levels = [] } = {}, factors }: Design,
  all: readonly Participant[] | undefined,
): StudyDesignResult['limits'] {
  const among = (some: readonly Participant[]) => ({ enrolled: headCount(some).filled });
  const withLevel = (factor: string, level: string) => {
    const index = factors.findIndex(({ name }) => name === factor);
    return all && among(all.filter((one) => currentLevels(one)[index] === level));
  };
  return [
    ...(total === undefined ? [] : [{ max: total, ...(all && among(all)) }]),
    ...levels.map(({ factor, level, max }) => ({ factor, level, max, ...withLevel(factor, level) })),
  ];
}

function factorShown({ name, levels, closed, earlierNames, isRetired }: Factor): FactorShown {
  return {
    name,
    retired: isRetired,
    levels: levels.map((level) => ({
      name: level,
      earlier_names: earlierNames.filter(({ now }) => now === level).map((earlier) => earlier.name),
      closed: closed.includes(level),
    })),
  };
}

export function designShown(inForce: Design): DesignResult {
  const { treatments, closedTreatments, stoppedTreatments, epoch, visits } = inForce;
  const { amendment, D, w, alpha, beta, idPattern, target, blinding, protocol } = inForce;
  const { stopAtLimit, levelCounts, voidCounts, forcedCounts } = inForce.policies;
  return {
    ...{ treatments: [...treatments], closed_treatments: [...closedTreatments], epoch },
    ...(stoppedTreatments.length > 0 && { stopped_treatments: [...stoppedTreatments] }),
    ...(hasRatio(inForce) && { ratio: ratioOf(inForce) }),
    ...{ amendment, D, w, alpha, beta, blinding },
    factors: inForce.factors.map(factorShown),
    ...(idPattern !== undefined && { id_pattern: idPattern }),
    ...(target !== undefined && { target }),
    policies: {
      stop_at_limit: stopAtLimit,
      level_counts: levelCounts,
      void_counts: voidCounts,
      forced_counts: forcedCounts,
    },
    ...(protocol && { protocol }),
    ...(visits.length > 0 && { visits: [...visits] }),
  };
}
