/**
 * What goes out after a command: the answer with a receipt, the one to a dry run, and the refusals that all routes that write to
 * a study share.
 */
import type { LevelLimit } from '../../../../events/access.ts';
import { refusalRow } from '../../../base/refusals.ts';
import type { Ledger } from '../../../core/log/ledger.ts';
import type { Design } from '../../../core/model/design.ts';
import { limitNow, retiredLimit } from '../../../core/model/key-limits.ts';
import { limitedTo, refusalOf, type StudyOutcome } from '../../../core/model/outcomes.ts';
import type { Amend, Force } from '../../../core/study/commands.ts';
import type { WriteResult } from '../../../core/write/writer.ts';
import type { KeyActor } from '../../operations/recorder.ts';
import { bodyName } from './body-form.ts';
import { HttpProblem, problemList, withHint } from './problem.ts';
import { SUCCESS } from './reply.ts';
import {
  actorOf,
  type BodyRequest,
  mayKnowOf,
  type Services,
  type StudyReply,
  type StudyRequest,
} from './study-request.ts';

interface CommandAnswers {
  /** `results` of the route without a result. */
  readonly empty: '[]' | '{}';
  /** JSON of the results, once the command has been recorded, or if it was recorded before. */
  results(outcome: StudyOutcome): string;
}

type CommandRequest = BodyRequest<{ readonly study: string; readonly dry_run?: boolean | undefined }>;

/** Submits what a JSON body asks for, or tries it out. */
export function answerCommand(
  services: Services,
  request: CommandRequest,
  command: Amend | Force,
  answers: CommandAnswers,
): Promise<StudyReply> {
  const { studies } = services;
  const { stream } = request.study;
  const ask = (isDry: boolean, actor: KeyActor) =>
    isDry ? studies.tryOut(stream, command) : studies.submit(stream, command, actor);
  return answerAsked(services, request, ask, answers);
}

/** Like `answerCommand`, for what is asked of the studies in another way. @param ask only tries it if `isDry` */
export async function answerAsked(
  { ledger, limits: { posts } }: Services,
  request: CommandRequest,
  ask: (isDry: boolean, actor: KeyActor) => Promise<WriteResult<StudyOutcome>>,
  { empty, results }: CommandAnswers,
): Promise<StudyReply> {
  const isDry = request.body.dry_run === true;
  const { keyId } = request.accepted.key;
  const actor = actorOf(request);
  posts.enter(keyId);
  const { outcome, revision } = await ask(isDry, actor).finally(() => posts.leave(keyId));
  const refused = refusedReply(outcome, revision, empty);
  if (refused) return refused;
  if (isDry)
    return dryRunReply('moves' in outcome && outcome.moves ? 'moves' : 'stays', revision, request.design());
  const receipt = receiptHeader(ledger, request.study.stream, revision);
  const headers = outcome.type === 'done-before' ? { ...receipt, ...REPEATED_HEADER } : receipt;
  return { status: 200, message: SUCCESS, results: results(outcome), revision, headers };
}

/**
 * The header with a signed checkpoint of the study that includes the record at this revision, in base64. All answers of a
 * batch carry the same checkpoint, which is signed once.
 */
export function receiptHeader(ledger: Ledger, stream: string, revision: number) {
  const { size, base64 } = ledger.checkpoint(stream);
  if (size <= revision) throw new Error('an event that was decided is not in the ledger');
  return { 'Urn-Receipt': base64 };
}

/** The request had been answered before, and nothing more was recorded. */
export const REPEATED_HEADER = { 'Urn-Repeated': 'true' } as const;

/** The headers of the answer to an act, for the OpenAPI document. */
export const ACT_HEADERS = {
  'Urn-Receipt': {
    description:
      'A signed checkpoint that includes the new event: the whole note (as in /checkpoint) in base64, at most 1000 characters. Keep it. Nothing that it covers can be changed unnoticed.',
    schema: { type: 'string', maxLength: 1000 },
  },
  'Urn-Repeated': {
    description:
      '`true` if the same request, with the same Idempotency-Key, had been answered before: nothing more was recorded',
    schema: { type: 'string', enum: ['true'] },
  },
};

/** The participant's record as it is now and as the key's scopes show it, without generator states. */
export function recordFor(request: StudyRequest, id: string): string {
  const { participants, view, accepted } = request;
  const participant = participants.find(id);
  const scopes = accepted.key.scopes.filter((scope) => scope === 'read' || scope === 'blinded');
  const isShown = participant && scopes.length > 0 && mayKnowOf(request, participant);
  return isShown ? view().records([participant], scopes) : '[]';
}

/** What a command would do to what the method counts. */
type CountsEffect = 'moves' | 'stays' | 'zero';

const URN_EFFECTS: Readonly<Record<CountsEffect, string>> = {
  moves: 'the urns would count differently from then on',
  stays: 'the urns would go on counting as they do',
  zero: 'the urns would begin anew',
};
const METHOD_EFFECTS: typeof URN_EFFECTS = {
  moves: 'the counts of participants would change',
  stays: 'the counts of participants would stay as they are',
  zero: 'the method would begin anew',
};

export const DRY_RUN_HEADER = { 'Urn-Dry-Run': 'true' } as const;

/**
 * The answer to a dry run that found nothing wrong. It says nothing about what would be drawn.
 * @param more members of `effect`
 */
export function dryRunReply(
  counts: CountsEffect,
  revision: number,
  { method }: Pick<Design, 'method'>,
  more: object = {},
): StudyReply {
  const results = JSON.stringify({ effect: { counts, ...more } });
  const inWords = method.name === 'urn' ? URN_EFFECTS : METHOD_EFFECTS;
  const message = `Nothing was recorded: this is a dry run. The request would be accepted, and ${inWords[counts]}`;
  return { status: 200, message, results, revision, headers: DRY_RUN_HEADER };
}

/** `results` of a dry run, for the OpenAPI document. */
export const DRY_RUN_RESULT = {
  type: 'object',
  description: 'For a dry run',
  required: ['effect'],
  additionalProperties: false,
  properties: {
    effect: {
      type: 'object',
      required: ['counts'],
      properties: {
        counts: {
          type: 'string',
          enum: ['moves', 'stays', 'zero'],
          description:
            'What happens to the urns, or to the counts of another method; the message says it in words',
        },
        design: { type: 'object', description: 'For an amendment: the design that would be in force' },
      },
    },
  },
};

/**
 * The answer to a command that was refused.
 * @param empty `results` of the route without a result
 * @returns undefined if it was not refused
 */
export function refusedReply(
  outcome: StudyOutcome,
  revision: number,
  empty: '[]' | '{}',
): StudyReply | undefined {
  const refusal = refusalOf(outcome);
  if (!refusal) return undefined;
  const { word, status, problems, says, hint } = refusal;
  const { retryAfter } = refusalRow(word);
  return {
    ...{ status, revision, refused: word },
    message: problems
      ? problemList(problems.map(({ field, why }) => `${bodyName(field)}: ${why}`))
      : `Nothing was recorded: ${withHint(says, hint)}`,
    results: outcome.type === 'dispensed-already' ? JSON.stringify(outcome.pack ?? {}) : empty,
    ...(retryAfter !== undefined && { headers: { 'Retry-After': String(retryAfter) } }),
  };
}

/** A key that may not enrol a participant with these levels. */
export function outsideLimits(
  where: readonly LevelLimit[] | undefined,
  inForce: Pick<Design, 'factors'>,
): HttpProblem {
  const retired = retiredLimit(where, inForce);
  return new HttpProblem(
    403,
    retired === undefined
      ? `Nothing was recorded: ${limitedTo((where ?? []).map((limit) => limitNow(limit, inForce)))}`
      : `This API key is limited by ${retired}, which is retired, so it can enrol nobody (hint: ask for a key with other limits)`,
  );
}
