/** GET /studies: the studies that a key may see, with their state and how many participants they have. */
import { z } from 'zod';
import { Protocol } from '../../../../events/define.ts';
import type { ApiKey } from '../../../../projections/access.ts';
import { withinLimits } from '../../../core/model/key-limits.ts';
import { goalOf } from '../../../core/model/limits.ts';
import { STATUSES } from '../../../core/model/outcomes.ts';
import { headCount } from '../../../core/model/participants.ts';
import { participants } from '../../../core/study/fold.ts';
import { ERRORS, operation, ref } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import { GoalResult, HEADS, resultJson } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { keyHandler, studiesFor, type VisibleStudy } from '../request/study-request.ts';
import { SLICE } from '../request/study-view.ts';

const PARAMETERS = new Set(['api_key']);

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

const EXAMPLE: StudyShown[] = [
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
  example: EXAMPLE,
  empty: [],
  isOfOneStudy: false,
  errors: ERRORS_WITHOUT_STUDY,
});

export function listStudies(services: Services) {
  return keyHandler(services, async ({ query, response, accepted }) => {
    refuseProblems(unknownParameters(query, PARAMETERS, 'studies'));
    const { key } = accepted;
    if (key.where && longest(services, key) > SLICE) await services.limits.lists.begin(key.keyId, response);
    const shown = await services.limits.lists.slice(() =>
      studiesFor(services, key).map((one) => shownTo(key, one, services)),
    );
    return { status: 200, message: SUCCESS, results: resultJson(StudiesResult, shown) };
  });
}

/** How many participants the longest study has. */
function longest(services: Services, key: ApiKey): number {
  const sizes = studiesFor(services, key).map(({ study }) =>
    study ? services.runner.state(participants, study.stream).inOrder.length : 0,
  );
  return Math.max(0, ...sizes);
}

function shownTo({ where }: ApiKey, { name, mode, study }: VisibleStudy, { runner }: Services): StudyShown {
  if (!study) return { study: name, ...(mode && { mode }), state: 'unreadable' };
  const { stream, registered, design } = study;
  const { halt } = registered;
  const { target, protocol } = design;
  const { inOrder } = runner.state(participants, stream);
  // When participants beyond the limits were randomized is not shown either.
  const known = withinLimits(inOrder, where, design);
  const last = known.at(-1);
  const goal = goalOf(design, where);
  return {
    ...{ study: name, mode, state: halt?.state ?? 'open' },
    ...(halt && { reason: halt.reason, since: halt.at }),
    ...(protocol && { protocol }),
    ...headCount(known),
    ...(target !== undefined && { target }),
    ...(goal && { goal }),
    ...(last && { last_allocation_at: last.at }),
  };
}
