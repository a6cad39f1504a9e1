/**
 * What a study is: GET /studies lists those of a key, and GET /study_config, /study_design and /study_form show one of them to
 * programs, to people and to forms. A key that is limited to some levels sees no counts of the others.
 */
import { z } from 'zod';
import type { Scope } from '../../../../events/access.ts';
import { Protocol } from '../../../../events/define.ts';
import type { ApiKey } from '../../../../projections/access.ts';
import { toJson } from '../../../base/json.ts';
import { activeFactors, type Design, openLevels } from '../../../core/model/design.ts';
import { isWithin, levelsWithin, retiredLimit } from '../../../core/model/key-limits.ts';
import { goalOf } from '../../../core/model/limits.ts';
import type { RegisteredStudy } from '../../../core/model/model.ts';
import { STATUSES } from '../../../core/model/outcomes.ts';
import {
  currentLevels,
  type HeadCount,
  HeadCounter,
  type Participant,
  type Participants,
} from '../../../core/model/participants.ts';
import { design, participants, studyConfig } from '../../../core/study/fold.ts';
import {
  DesignInForce,
  designInForce,
  FilledLevels,
  LimitInForce,
  limitsInForce,
  METHOD_IN_FORCE,
  MethodParametersResult,
  methodInForce,
  methodParameters,
  URN_IN_FORCE,
} from '../../../core/study/public-design.ts';
import type { Study } from '../../../core/study/studies.ts';
import { outsideLimits } from '../request/command-reply.ts';
import { inTurns, OfRevision, type Turn } from '../request/in-progress.ts';
import { ERRORS, MIN_REVISION, MOMENT, operation, ref, STUDY } from '../request/openapi-operation.ts';
import { MOMENT_PARAMETERS, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { checked, resultJson, SUCCESS } from '../request/reply.ts';
import {
  keyHandler,
  momentOf,
  type Services,
  studiesFor,
  studyAt,
  studyHandler,
  type VisibleStudy,
} from '../request/study-request.ts';
import { GoalResult, HEADS, SLICE } from '../request/study-view.ts';

// GET /studies: the studies that a key may see, with their state and how many participants they have

const STUDIES_PARAMETERS = new Set(['api_key']);

export const StudiesResult = z.array(
  z.strictObject({
    study: z.string(),
    mode: z.enum(['test', 'live']).optional().meta({
      description: 'Absent if even the registration of the study cannot be read',
    }),
    state: z.enum([...STATUSES, 'unreadable']).meta({
      description: '`unreadable`: its operator finds the reason in the log of the service',
    }),
    reason: z.string().optional().meta({ description: 'Why the study is not open' }),
    since: z.string().optional().meta({ description: 'Since when the study is not open' }),
    protocol: Protocol.optional(),
    enrolled: z.int().optional().meta({
      description:
        'How many participants the study has; for a key that is limited to some levels, within its limits. Absent if the study cannot be read',
    }),
    voided: HEADS.voided.optional(),
    filled: HEADS.filled.optional(),
    target: z.int().optional().meta({ description: 'Of the whole study' }),
    goal: GoalResult.optional(),
    last_allocation_at: z.string().optional().meta({
      description: 'When the last of these participants was randomized',
    }),
  }),
);
type StudyShown = z.infer<typeof StudiesResult>[number];

const STUDIES_EXAMPLE: StudyShown[] = [
  {
    study: 'CHS JCOIN',
    mode: 'live',
    state: 'paused',
    reason: 'DSMB meeting',
    since: '2027-03-02T09:14:00.120Z',
    protocol: { version: '2.0', date: '2027-01-10' },
    enrolled: 118,
    voided: 3,
    filled: 116,
    target: 300,
    goal: { kind: 'target', places: 300 },
    last_allocation_at: '2027-03-01T14:02:11.871Z',
  },
];

const { 404: _, ...ERRORS_WITHOUT_STUDY } = ERRORS;

export const listStudiesOperation = operation('List the studies of a key', 'listStudies', [], {
  parameters: [],
  result: ref('Studies'),
  example: STUDIES_EXAMPLE,
  empty: [],
  isOfOneStudy: false,
  errors: ERRORS_WITHOUT_STUDY,
});

export function listStudies(services: Services) {
  return keyHandler(services, async ({ query, response, accepted, turn }) => {
    refuseProblems(unknownParameters(query, STUDIES_PARAMETERS, 'studies'));
    const { key } = accepted;
    if (key.where && longestStudy(services, key) > SLICE)
      await services.limits.lists.begin(key.keyId, response);
    const shown: StudyShown[] = [];
    for (const one of studiesFor(services, key)) shown.push(await shownTo(key, one, services, turn));
    return { status: 200, message: SUCCESS, results: resultJson(StudiesResult, shown) };
  });
}

/** How many participants the longest study has. */
function longestStudy(services: Services, key: ApiKey): number {
  const sizes = studiesFor(services, key).map(({ study }) =>
    study ? services.runner.state(participants, study.stream).inOrder.length : 0,
  );
  return Math.max(0, ...sizes);
}

async function shownTo(
  { where }: ApiKey,
  { name, mode, study }: VisibleStudy,
  { runner }: Services,
  turn: Turn,
): Promise<StudyShown> {
  if (!study) return { study: name, ...(mode && { mode }), state: 'unreadable' };
  const { stream, registered, design } = study;
  const { halt } = registered;
  const { target, protocol } = design;
  const { heads, last } = await countsOf(runner.state(participants, stream), study, where, turn);
  const goal = goalOf(design, where);
  return {
    ...{ study: name, mode, state: halt?.state ?? 'open' },
    ...(halt && { reason: halt.reason, since: halt.at }),
    ...(protocol && { protocol }),
    ...heads,
    ...(target !== undefined && { target }),
    ...(goal && { goal }),
    // When participants beyond the limits were randomized is not shown either.
    ...(last && { last_allocation_at: last.at }),
  };
}

/** What is counted of those participants of a study of whom a key may know. */
interface Counts {
  readonly heads: HeadCount;
  readonly filled: FilledLevels;
  /** The last of them. */
  readonly last: Participant | undefined;
}

const COUNTS = new OfRevision<Counts>();

function countsOf(
  participants: Participants,
  { design, revision }: Pick<Study, 'design' | 'revision'>,
  where: ApiKey['where'],
  turn: Turn,
): Promise<Counts> {
  return COUNTS.of(participants, revision, where ? JSON.stringify(where) : 'all', async () => {
    const heads = new HeadCounter();
    const filled = new FilledLevels(design);
    let last: Participant | undefined;
    const count = (one: Participant) => {
      if (!isWithin(where, design, currentLevels(one))) return;
      heads.add(one);
      filled.add(one);
      last = one;
    };
    // A copy, because the study may grow meanwhile.
    await inTurns(participants.inOrder.slice(), count, turn);
    return { heads: heads.now(), filled, last };
  });
}

// GET /study_config: the configuration of a study

const STUDY_CONFIG_PARAMETERS = new Set(['api_key', 'study', ...MOMENT_PARAMETERS]);

export const StudyConfigurationResult = z.strictObject({
  factors: z
    .map(z.string(), z.array(z.string()))
    .meta({ description: 'The levels of each factor that take participants, by its name' }),
  treatments: z.array(z.string()),
  D: URN_IN_FORCE.D,
  alpha: URN_IN_FORCE.alpha,
  beta: URN_IN_FORCE.beta,
  w: URN_IN_FORCE.w,
  starting_seed: z
    .bigint()
    .optional()
    .meta({ description: 'Only shown to a key with the scope `audit`, because it reveals every assignment' }),
  urn_selection: z.literal('method1').optional(),
  ...METHOD_IN_FORCE,
  method_parameters: MethodParametersResult.optional().meta({
    description: 'How the method draws. Only shown to a key with the scope `audit`',
  }),
});

const STUDY_CONFIG_EXAMPLE = {
  factors: { sex: ['Male', 'Female'], local_site: ['11-Cook County – Chicago', '30-Dupage County'] },
  treatments: ['MART', 'RMC-Q', 'RMC-A'],
  D: 'chisquare',
  alpha: 0,
  beta: 1,
  w: 1,
  urn_selection: 'method1',
};

export const studyConfigOperation = operation(
  'Read the configuration of a study',
  'studyConfig',
  ['read', 'blinded'],
  {
    parameters: [STUDY, MIN_REVISION, ...MOMENT],
    result: ref('StudyConfiguration'),
    example: STUDY_CONFIG_EXAMPLE,
    empty: {},
    errors: ERRORS,
  },
);

export function getStudyConfig(services: Services) {
  return studyHandler(services, ['read', 'blinded'], async (request) => {
    const { query, study, accepted } = request;
    const problems = unknownParameters(query, STUDY_CONFIG_PARAMETERS, 'study_config');
    const moment = momentOf(request, problems);
    refuseProblems(problems);
    const { scopes } = accepted.key;
    const discloses = scopes.includes('audit') ? ({ what: 'seed' } as const) : undefined;
    if (!moment) {
      const results = configurationJson(request.design(), study.registered, scopes);
      return { status: 200, message: SUCCESS, results, revision: study.revision, discloses };
    }
    const { states, revision } = await studyAt(services, request, moment, { design, studyConfig });
    if (!states.design || !states.studyConfig)
      throw new Error('a moment of a study that is before its registration');
    const results = configurationJson(states.design, states.studyConfig, scopes);
    return { status: 200, message: SUCCESS, results, revision, discloses };
  });
}

/**
 * JSON of the configuration in force, with the levels that take participants. Only the scope `audit` may see
 * `starting_seed`.
 */
function configurationJson(
  inForce: Design,
  { seed, parameters }: RegisteredStudy,
  scopes: readonly Scope[],
): string {
  const { treatments, method } = inForce;
  const isAudit = scopes.includes('audit');
  const result = {
    factors: new Map(activeFactors(inForce).map((factor) => [factor.name, openLevels(factor)])),
    treatments,
    ...methodInForce(inForce),
    starting_seed: isAudit ? BigInt(seed) : undefined,
    ...(method.name === 'urn' && { urn_selection: method.urnSelection }),
    ...(isAudit && { method_parameters: methodParameters(inForce, parameters) }),
  };
  return toJson(checked(StudyConfigurationResult, result));
}

// GET /study_design: the design in force, the state of the study, and how far its limits are reached

const STUDY_DESIGN_SCOPES = ['read', 'blinded'] as const;
/** Of a route that shows a study only as it is now. */
const CURRENT_PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);

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

const STUDY_DESIGN_EXAMPLE: StudyDesignResult = {
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
  STUDY_DESIGN_SCOPES,
  {
    parameters: [STUDY, MIN_REVISION],
    result: ref('StudyDesign'),
    example: STUDY_DESIGN_EXAMPLE,
    empty: {},
    errors: ERRORS,
  },
);

export function getStudyDesign(services: Services) {
  return studyHandler(services, STUDY_DESIGN_SCOPES, async (request) => {
    const { query, study, participants, turn } = request;
    refuseProblems(unknownParameters(query, CURRENT_PARAMETERS, 'study_design'));
    const { halt, configuration, imported } = study.registered;
    const { revision } = study;
    const inForce = request.design();
    // A key that is limited to a site does not learn how many the others have.
    const { where } = request.accepted.key;
    const counted = where ? undefined : await countsOf(participants, study, undefined, turn);
    const shown: StudyDesignResult = {
      mode: configuration.mode,
      state: halt?.state ?? 'open',
      ...(halt && { reason: halt.reason, since: halt.at }),
      ...counted?.heads,
      limits: limitsInForce(inForce, counted?.filled),
      ...(imported &&
        counted && {
          imported: {
            participants: imported.redrawn + imported.unproven,
            redrawn: imported.redrawn,
            at: imported.at,
          },
        }),
      design: designInForce(inForce),
    };
    return { status: 200, message: SUCCESS, results: resultJson(StudyDesignResult, shown), revision };
  });
}

// GET /study_form: what forms ask about a participant, and which answers the study takes from this key

const STUDY_FORM_SCOPES = ['randomize'] as const;

/** It names no arm: a key that only randomizes sees none. */
export const StudyFormResult = z.strictObject({
  id_pattern: z.string().optional().meta({ description: 'What an id must match as a whole' }),
  factors: z
    .array(z.strictObject({ name: z.string(), levels: z.array(z.string()) }))
    .meta({ description: 'The levels that take participants and are within the limits of the key' }),
  visits: z.array(z.string()).optional().meta({
    description: 'The visits at which participants get further packs; absent: none',
  }),
});
type StudyFormResult = z.infer<typeof StudyFormResult>;

const STUDY_FORM_EXAMPLE: StudyFormResult = {
  id_pattern: '[0-9]{2}-[0-9]{4}',
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'local_site', levels: ['30-Dupage County'] },
  ],
};

export const studyFormOperation = operation(
  'Show what a form asks about a new participant',
  'studyForm',
  STUDY_FORM_SCOPES,
  {
    parameters: [STUDY, MIN_REVISION],
    result: ref('StudyForm'),
    example: STUDY_FORM_EXAMPLE,
    empty: {},
    errors: ERRORS,
  },
);

export function getStudyForm(services: Services) {
  return studyHandler(services, STUDY_FORM_SCOPES, (request) => {
    const { query, study, accepted } = request;
    const { where } = accepted.key;
    refuseProblems(unknownParameters(query, CURRENT_PARAMETERS, 'study_form'));
    const inForce = request.design();
    if (retiredLimit(where, inForce) !== undefined) throw outsideLimits(where, inForce);
    const { idPattern, visits } = inForce;
    const shown: StudyFormResult = {
      ...(idPattern !== undefined && { id_pattern: idPattern }),
      factors: activeFactors(inForce).map((factor) => ({
        name: factor.name,
        levels: levelsWithin(where, factor),
      })),
      ...(visits.length > 0 && { visits: [...visits] }),
    };
    const results = resultJson(StudyFormResult, shown);
    return { status: 200, message: SUCCESS, results, revision: study.revision };
  });
}
