/** Trying out what a request would do. */

import type { Design } from '../../../core/model/design.ts';
import type { StudyReply } from './study-request.ts';

/** What a command would do to what the method counts. */
export type CountsEffect = 'moves' | 'stays' | 'zero';

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

export const DRY_RUN_HEADER = { 'Urn-Dry-Run': 'true' } as const;

const OF_URNS: Readonly<Record<CountsEffect, string>> = {
  moves: 'the urns would count differently from then on',
  stays: 'the urns would go on counting as they do',
  zero: 'the urns would begin anew',
};
const OF_OTHERS: typeof OF_URNS = {
  moves: 'the counts of participants would change',
  stays: 'the counts of participants would stay as they are',
  zero: 'the method would begin anew',
};

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
  const inWords = method.name === 'urn' ? OF_URNS : OF_OTHERS;
  const message = `Nothing was recorded: this is a dry run. The request would be accepted, and ${inWords[counts]}`;
  return { status: 200, message, results, revision, headers: DRY_RUN_HEADER };
}
