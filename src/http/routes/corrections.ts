/**
 * POST /level_corrections, /voids, /reinstatements and /id_corrections: what turned out to be wrong after a randomization.
 * Nothing is drawn again.
 */
import { z } from 'zod';
import {
  IdCause,
  type LevelChange,
  LevelsCause,
  VoidAnalysis,
  VoidCause,
} from '../../../events/corrections.ts';
import { askedLevel, type Design } from '../../../projections/design.ts';
import { ACTS } from '../../study/acts.ts';
import { type Correction, impossible, type StudyOutcome } from '../../study/commands.ts';
import { noSuchLevel } from '../../study/levels.ts';
import { newIdProblem, problemsOfId } from '../../study/participant-id.ts';
import { DryRun, Note, StudyName } from '../request/body-members.ts';
import { idempotencyKeyOf } from '../request/headers.ts';
import { answerCommand, wasAnswered } from '../request/life-command.ts';
import { bodyOperation, ERRORS, type Json, jsonSchema } from '../request/operation.ts';
import { NOT_FOUND, participantProblem, recordFor } from '../request/participant-command.ts';
import { HttpProblem, problemList } from '../request/problem.ts';
import { ACT_HEADERS } from '../request/receipt.ts';
import { ParticipantId } from '../request/schemas.ts';
import type { Services } from '../request/services.ts';
import { type BodyRequest, bodyHandler, type StudyReply } from '../request/study-request.ts';
import { EXAMPLE_RECORD, RECORDS } from './participant-parts.ts';

const SCOPES = ACTS.LevelsCorrected.scopes;

const common = {
  study: StudyName,
  id: ParticipantId.meta({ description: 'An id that the participant has or had' }),
  dry_run: DryRun,
};

const Change = z
  .strictObject({
    factor: z.string(),
    from: z.string().meta({ description: 'The current level' }),
    to: z.string(),
  })
  .refine(({ from, to }) => from !== to, { error: 'from and to are the same level' });

const LevelsBody = z.strictObject({
  ...common,
  changes: z
    .array(Change)
    .min(1, 'must have at least one change')
    .max(100)
    .superRefine((changes, context) => {
      const names = changes.map(({ factor }) => factor);
      for (const name of new Set(names.filter((factor, i) => names.indexOf(factor) < i)))
        context.addIssue({ code: 'custom', message: `${name} is given more than once` });
    }),
  cause: LevelsCause.meta({
    description:
      '`entry`: a slip when it was entered. `source`: the source record was wrong. `definition`: the level was misunderstood. `transfer`: the participant has moved to another site',
  }),
  note: Note,
});

const VoidBody = z
  .strictObject({
    ...common,
    cause: VoidCause.meta({ description: '`entry` is for allocations that were made outside the service' }),
    analysis: VoidAnalysis.meta({
      description: 'Whether the participant should be analysed, as far as you know',
    }),
    duplicate_of: z
      .string()
      .min(1)
      .optional()
      .meta({ description: 'The id of the participant who is the same person. Only with cause `duplicate`' }),
    note: Note,
  })
  .refine(({ cause, duplicate_of }) => duplicate_of === undefined || cause === 'duplicate', {
    error: 'is only for the cause duplicate',
    path: ['duplicate_of'],
  });

const ReinstateBody = z.strictObject({ ...common, note: Note });

const NewId = z
  .string()
  .superRefine((id, context) => {
    for (const problem of problemsOfId(id))
      context.addIssue({ code: 'custom', message: problem.replace(/^id /, '') });
  })
  .meta({ description: 'The right id' });

const IdBody = z.strictObject({
  ...common,
  to: NewId,
  cause: IdCause.meta({
    description: "`entry`: a slip when it was entered. `pattern`: it did not match the study's pattern",
  }),
});

type Body = { readonly study: string; readonly id: string; readonly dry_run?: boolean | undefined };

export const correctLevelsOperation = correctionOperation(
  'Correct levels of a participant',
  'correctLevels',
  jsonSchema(LevelsBody),
  {
    study: 'CHS JCOIN',
    id: '001-0007',
    changes: [{ factor: 'sex', from: 'Female', to: 'Male' }],
    cause: 'entry',
    note: 'source record of 3 March',
  },
);

export const voidOperation = correctionOperation(
  'Mark a participant as randomized in error',
  'voidAllocation',
  jsonSchema(VoidBody),
  {
    study: 'CHS JCOIN',
    id: '001-0009',
    cause: 'duplicate',
    duplicate_of: '001-0004',
    analysis: 'exclude',
    note: 'screened twice',
  },
);

export const reinstateOperation = correctionOperation(
  'Undo the voiding of a participant',
  'reinstateAllocation',
  jsonSchema(ReinstateBody),
  { study: 'CHS JCOIN', id: '001-0009', note: 'was another person' },
);

export const correctIdOperation = correctionOperation(
  'Correct the id of a participant',
  'correctId',
  jsonSchema(IdBody),
  { study: 'CHS JCOIN', id: '001-0070', to: '001-0007', cause: 'entry' },
);

function correctionOperation(summary: string, operationId: string, body: Json, bodyExample: Json): Json {
  return bodyOperation(summary, operationId, SCOPES, {
    body,
    bodyExample,
    result: RECORDS,
    example: [EXAMPLE_RECORD],
    empty: [],
    headers: ACT_HEADERS,
    errors: {
      ...ERRORS,
      404: NOT_FOUND,
      409: 'What the request corrects is not, or no longer, as it says; the message gives the current state',
      422: 'Well-formed, but impossible in this study; the message says why. Or the Idempotency-Key was used for a different request',
    },
  });
}

export function postLevelCorrection(services: Services) {
  return correctionHandler(services, LevelsBody, ({ body, design }) => {
    const { cause, changes, note } = body;
    return {
      command: { type: 'correct-levels', cause, changes, note },
      mismatch: strayLevel(changes, design().factors),
    };
  });
}

export function postVoid(services: Services) {
  return correctionHandler(
    services,
    VoidBody,
    ({ body: { cause, analysis, duplicate_of: duplicateOf, note } }) => {
      return { command: { type: 'void', cause, analysis, duplicateOf, note } };
    },
  );
}

export function postReinstatement(services: Services) {
  return correctionHandler(services, ReinstateBody, ({ body: { note } }) => ({
    command: { type: 'reinstate', note },
  }));
}

export function postIdCorrection(services: Services) {
  return correctionHandler(services, IdBody, ({ body: { cause, to }, design, participants, view }) => {
    const { amendment } = design();
    const command = { type: 'correct-id', cause, to, amendment } as const;
    const ofNewId = participants.find(to) ? undefined : newIdProblem(to);
    if (ofNewId !== undefined) return { command, mismatch: new HttpProblem(400, `to: ${ofNewId}`) };
    const problem = view().patternProblem(to);
    return { command, mismatch: problem === undefined ? undefined : impossible('to', problem) };
  });
}

type Own<C> = C extends Correction
  ? Omit<C, 'participantId' | 'randomizedAt' | 'where' | 'user' | 'idempotencyKey'>
  : never;

interface Asked {
  /** The members of the route's command that the other corrections lack. */
  readonly command: Own<Correction>;
  /** Why it does not fit the design in force. */
  readonly mismatch?: StudyOutcome | HttpProblem | undefined;
}

function correctionHandler<T extends Body>(
  services: Services,
  schema: z.ZodType<T>,
  own: (request: BodyRequest<T>) => Asked,
) {
  return bodyHandler(services, schema, SCOPES, async (request): Promise<StudyReply> => {
    const { http, accepted, body } = request;
    const { command: asked, mismatch } = own(request);
    const command = {
      ...asked,
      participantId: body.id,
      where: accepted.key.where,
      user: accepted.key.user,
      idempotencyKey: idempotencyKeyOf(http),
    } as Correction;
    if (mismatch && !(await wasAnswered(services, request, command))) {
      if (mismatch instanceof HttpProblem) throw mismatch;
      return answerTo(mismatch, request.study.revision);
    }
    return answerCommand(services, request, command, {
      problemOf: participantProblem,
      results: () => recordFor(request, body.id),
    });
  });
}

function answerTo(mismatch: StudyOutcome, revision: number): StudyReply {
  const reply = participantProblem(mismatch, revision);
  if (!reply) throw new Error(`unexpected outcome ${mismatch.type}`);
  return reply;
}

/** 400 for all factors and levels that the study does not have. Otherwise the first level that belongs to another factor. */
function strayLevel(changes: readonly LevelChange[], factors: Design['factors']): Asked['mismatch'] {
  const problems: string[] = [];
  let stray: ReturnType<typeof impossible> | undefined;
  for (const [i, { factor, ...levels }] of changes.entries()) {
    const known = factors.find(({ name }) => name === factor);
    if (!known) {
      const names = factors.map(({ name }) => name).join(', ');
      problems.push(
        `changes[${i}].factor: the study has no factor ${JSON.stringify(factor)} (it has: ${names})`,
      );
      continue;
    }
    for (const member of ['from', 'to'] as const) {
      const level = levels[member];
      if (askedLevel(known, level) !== undefined) continue;
      const why = noSuchLevel(known, level);
      const other = factors.find((one) => one.levels.includes(level));
      if (other) stray ??= impossible(`changes[${i}].${member}`, `${why}; it is a level of ${other.name}`);
      else problems.push(`changes[${i}].${member}: ${why}`);
    }
  }
  return problems.length > 0 ? new HttpProblem(400, problemList(problems)) : stray;
}
