/** Answers shared by all routes that write to a study, for when the study does not allow it. */
import type { LevelLimit } from '../../../../events/access.ts';
import type { Design } from '../../../core/model/design.ts';
import { limitNow, retiredLimit } from '../../../core/model/key-limits.ts';
import type { FullLimit, Status } from '../../../core/model/outcomes.ts';
import { HttpProblem } from './problem.ts';
import type { StudyReply } from './study-request.ts';

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
