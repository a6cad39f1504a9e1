/**
 * What goes out after a command: the answer with a receipt, the one to a dry run, and the refusals that all routes that write to
 * a study share.
 */
import type { LevelLimit } from '../../../../events/access.ts';
import type { Ledger } from '../../../core/log/ledger.ts';
import type { Design } from '../../../core/model/design.ts';
import { limitNow, retiredLimit } from '../../../core/model/key-limits.ts';
import type { FullLimit, Status, StudyOutcome } from '../../../core/model/outcomes.ts';
import type { Amend, Force } from '../../../core/study/commands.ts';
import type { WriteResult } from '../../../core/write/writer.ts';
import type { KeyActor } from '../../operations/recorder.ts';
import { HttpProblem } from './problem.ts';
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
  /** The answer to a command that was refused; undefined if it was not. */
  problemOf(outcome: StudyOutcome, revision: number): StudyReply | undefined;
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
  { problemOf, results }: CommandAnswers,
): Promise<StudyReply> {
  const isDry = request.body.dry_run === true;
  const { keyId } = request.accepted.key;
  const actor = actorOf(request);
  posts.enter(keyId);
  const { outcome, revision } = await ask(isDry, actor).finally(() => posts.leave(keyId));
  const problem = problemOf(outcome, revision);
  if (problem) return problem;
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

/** What the refusals have in common whose reason is the state of the study. */
const CONFLICT = { status: 409, results: '[]' } as const;

/** @param because the state of the study that forbids it */
export function refusedReply(because: Status | 'suspended', revision: number): StudyReply {
  switch (because) {
    case 'paused':
      return {
        ...CONFLICT,
        message: 'The study is paused and takes no participants',
        revision,
        refused: 'paused',
      };
    case 'closed':
      return {
        ...CONFLICT,
        message: 'The study is closed and takes no participants',
        revision,
        refused: 'closed',
      };
    case 'importing':
      return {
        ...CONFLICT,
        message: 'A history is being imported into the study, which takes no participants until then',
        revision,
        refused: 'importing',
      };
    case 'suspended':
      return {
        status: 503,
        message:
          'The study takes no participants: the studies file of the service differs from what was registered (ask the operator; the messages of the service show the differences)',
        results: '[]',
        revision,
        refused: 'suspended',
        headers: { 'Retry-After': '60' },
      };
    case 'open':
      throw new Error('an open study forbids nothing');
  }
}

export function reusedReply(revision: number): StudyReply {
  return {
    status: 422,
    message: 'This Idempotency-Key was used for another request (use a new key for another one)',
    results: '[]',
    revision,
  };
}

export function fullReply({ max, of }: FullLimit, revision: number): StudyReply {
  const whom = of ? `participants with ${of.factor} = ${of.level}` : 'participants';
  return {
    ...CONFLICT,
    message: `The study takes no more ${whom}: the limit of ${max} is reached`,
    revision,
    refused: 'full',
  };
}

export function closedReply(
  { factor, level }: { readonly factor: string; readonly level: string },
  revision: number,
): StudyReply {
  return {
    ...CONFLICT,
    message: `The study takes no more participants with ${factor} = ${level}: the level is closed`,
    revision,
    refused: 'level-closed',
  };
}

/** The same text whatever arm has too few packs. */
export function noCodeReply(revision: number): StudyReply {
  return {
    ...CONFLICT,
    message: 'There are not enough packs left for this participant (hint: ask whoever supplies packs)',
    revision,
    refused: 'no-code',
  };
}

/** The same text whether there is no list, it is used up, or entries are to be skipped first. */
export function noEntryReply(revision: number): StudyReply {
  return {
    ...CONFLICT,
    message: 'Nobody with these levels can be randomized now: ask whoever runs the randomization',
    revision,
    refused: 'no-entry',
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
      ? limitedTo((where ?? []).map((limit) => limitNow(limit, inForce)))
      : `This API key is limited by ${retired}, which is retired, so it can enrol nobody (hint: ask for a key with other limits)`,
  );
}

/** @param limits with the present names of the levels */
export function limitedTo(limits: readonly LevelLimit[]): string {
  const each = limits.map(
    ({ factor, levels }) => `${factor} = ${levels.map((level) => JSON.stringify(level)).join(' or ')}`,
  );
  return `This API key is limited to ${each.join(' and ')}`;
}
