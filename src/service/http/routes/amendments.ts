/** POST /amendments: changes the design of a study from here on. */
import { z } from 'zod';
import {
  type DesignChange,
  History,
  ImbalanceMeasure,
  MAX_VISITS,
  MAX_WEIGHT,
  Visit,
} from '../../../../events/study.ts';
import { mayOf } from '../../../core/acts/acts.ts';
import { amendedDesign } from '../../../core/model/design.ts';
import { Approvals, DryRun, ProtocolVersion, StudyName, StudyReason } from '../../../core/model/members.ts';
import type { FieldProblem } from '../../../core/model/outcomes.ts';
import { amendmentOf, newNameProblems } from '../../../core/study/amendments.ts';
import type { Amend } from '../../../core/study/commands.ts';
import { DesignInForce, designInForce } from '../../../core/study/public-design.ts';
import { ACT_HEADERS, answerCommand, dryRunReply } from '../request/command-reply.ts';
import { bodyOperation, ERRORS, jsonSchema } from '../request/openapi-operation.ts';
import { idempotencyKeyOf } from '../request/parameters.ts';
import { HttpProblem, problemList } from '../request/problem.ts';
import { resultJson } from '../request/reply.ts';
import { type BodyRequest, bodyHandler, type Services } from '../request/study-request.ts';

const Level = { factor: z.string(), level: z.string() };
const Max = z.int().min(1).max(1_000_000_000);

const LimitsValue = z
  .strictObject({
    total: Max.optional(),
    levels: z
      .array(z.strictObject({ ...Level, max: Max }))
      .min(1)
      .max(500)
      .optional()
      .meta({ description: 'In the order of the design' }),
  })
  .optional();

const policy = <N extends string, V extends z.ZodType>(name: N, value: V) =>
  z.strictObject({ kind: z.literal('policy'), name: z.literal(name), value });

const Change = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('level-added'), ...Level }),
  z.strictObject({ kind: z.literal('level-closed'), ...Level }),
  z.strictObject({ kind: z.literal('level-reopened'), ...Level }),
  z.strictObject({
    kind: z.literal('level-renamed'),
    ...Level,
    to: z.string(),
    alias: z
      .literal(true)
      .optional()
      .meta({ description: 'Requests may still use the old name; records have the new one' }),
  }),
  z.strictObject({ kind: z.literal('arm-closed'), treatment: z.string() }),
  z.strictObject({ kind: z.literal('arm-reopened'), treatment: z.string() }),
  z.strictObject({
    kind: z.literal('arm-added'),
    treatment: z.string(),
    ratio: z.int().min(2).max(20).optional().meta({ description: 'How many slots it has; absent: one' }),
  }),
  z.strictObject({
    kind: z.literal('arm-stopped'),
    treatment: z.string().meta({
      description: 'A closed arm: nobody on it gets packs any more, until it is reopened',
    }),
  }),
  z.strictObject({
    kind: z.literal('urn'),
    w: z.int().min(1).max(MAX_WEIGHT).optional(),
    alpha: z.int().nonnegative().max(MAX_WEIGHT).optional(),
    beta: z.int().nonnegative().max(MAX_WEIGHT).optional(),
    D: ImbalanceMeasure.optional(),
  }),
  z.strictObject({
    kind: z.literal('ratio'),
    value: z.array(z.int().min(1).max(20)).min(2).max(100).meta({
      description: 'A number for each treatment, including closed ones; all ones: no ratio',
    }),
  }),
  z.strictObject({ kind: z.literal('factor-retired'), factor: z.string() }),
  z.strictObject({
    kind: z.literal('limits'),
    value: LimitsValue.meta({ description: 'All limits from here on; absent: none' }),
  }),
  z.strictObject({ kind: z.literal('id-pattern'), value: z.string().min(1).optional() }),
  z.strictObject({ kind: z.literal('target'), value: z.int().nonnegative().optional() }),
  z.strictObject({
    kind: z.literal('visits'),
    value: z.array(Visit).max(MAX_VISITS).meta({
      description: 'All visits at which participants get packs from here on, in order; empty: none',
    }),
  }),
  z.strictObject({ kind: z.literal('blinding'), value: z.enum(['open', 'blinded']) }),
  z.discriminatedUnion('name', [
    policy('stop_at_limit', z.boolean()),
    policy('level_counts', z.enum(['as-randomized', 'as-corrected'])),
    policy('void_counts', z.enum(['kept', 'removed'])),
    policy('forced_counts', z.enum(['counted', 'not-counted'])),
  ]),
]);
type Change = z.infer<typeof Change>;

const Body = z.strictObject({
  study: StudyName,
  amendment: z.int().min(1).meta({
    description: 'The number of this amendment: one more than `amendment` of GET /study_design',
  }),
  changes: z.array(Change).max(200).meta({
    description: 'Applied in this order. It may be empty if there is a protocol.',
  }),
  history: History.optional().meta({
    description:
      'Who is counted from here on: everybody as before, or nobody who was enrolled before. Absent: `restart` if an arm is added or the ratio changes, with minimization, blocks and lists also if an arm is reopened, with blocks and lists also if one is closed; otherwise `keep`.',
  }),
  reason: StudyReason,
  approvals: Approvals.optional().meta({
    description: 'Who decided this outside the system: at least one in a live study',
  }),
  protocol: ProtocolVersion.optional().meta({ description: 'The version of the protocol from here on' }),
  dry_run: DryRun,
});
type Body = z.infer<typeof Body>;

const AmendmentResult = z.strictObject({ amendment: z.int(), design: DesignInForce });

const SCOPES = mayOf('StudyAmended').scopes;

export const amendOperation = bodyOperation('Amend the design of a study', 'amendStudy', SCOPES, {
  body: jsonSchema(Body),
  bodyExample: {
    study: 'CHS JCOIN',
    amendment: 1,
    changes: [
      { kind: 'level-added', factor: 'local_site', level: '50-Mclean County' },
      { kind: 'level-closed', factor: 'local_site', level: '11-Cook County – Chicago' },
    ],
    reason: 'new site, Cook closed',
    approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01', reference: 'Amendment 3' }],
    protocol: { version: '3.0', date: '2027-02-20' },
  },
  result: jsonSchema(AmendmentResult),
  empty: {},
  headers: ACT_HEADERS,
  errors: {
    ...ERRORS,
    409: 'The study has been amended since (`amendment` is not the next number), or a history is being imported into it',
    422: 'Well-formed, but impossible in this design: the message names every problem. Or the Idempotency-Key was used for a different request',
  },
});

export function postAmendment(services: Services) {
  return bodyHandler(services, Body, SCOPES, async (request) => {
    const command = commandOf(request);
    const reply = await answerCommand(services, request, command, {
      empty: '{}',
      results: () => {
        const inForce = request.design();
        return resultJson(AmendmentResult, { amendment: inForce.amendment, design: designInForce(inForce) });
      },
    });
    if (reply.status !== 200 || request.body.dry_run !== true) return reply;
    const inForce = request.design();
    // A request that is repeated has been applied already.
    const isNext = command.amendment === inForce.amendment + 1;
    const after = isNext ? amendedDesign(inForce, amendmentOf(command, inForce)) : inForce;
    const effect = after.epoch > inForce.epoch ? 'zero' : 'stays';
    return dryRunReply(effect, reply.revision, after, { design: designInForce(after) });
  });
}

/** @throws HttpProblem 400 listing every new name that is not allowed */
function commandOf({ http, accepted: { key }, body }: BodyRequest<Body>): Amend {
  const { amendment, history, reason, approvals = [], protocol } = body;
  const changes = body.changes.map(changeOf);
  const problems = newNameProblems(changes);
  if (problems.length > 0) throw new HttpProblem(400, sentence(problems));
  return {
    ...{ type: 'amend', user: key.user, idempotencyKey: idempotencyKeyOf(http) },
    ...{ amendment, changes, history, reason, approvals, protocol },
  };
}

const POLICIES = {
  stop_at_limit: 'stopAtLimit',
  level_counts: 'levelCounts',
  void_counts: 'voidCounts',
  forced_counts: 'forcedCounts',
} as const;

function changeOf(change: Change): DesignChange {
  if (change.kind !== 'policy') return change;
  return { ...change, name: POLICIES[change.name] } as DesignChange;
}

function sentence(problems: readonly FieldProblem[]): string {
  return problemList(problems.map(({ field, why }) => `${field}: ${why}`));
}
