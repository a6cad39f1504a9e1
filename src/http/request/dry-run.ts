/** Trying out what a request would do. */

import { SUCCESS } from './reply.ts';
import type { StudyReply } from './study-request.ts';

/** What a command would do to the counts of the urns. */
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
        counts: { type: 'string', enum: ['moves', 'stays', 'zero'], description: 'What happens to the urns' },
        design: { type: 'object', description: 'For an amendment: the design that would be in force' },
      },
    },
  },
};

export const DRY_RUN_HEADER = { 'Urn-Dry-Run': 'true' } as const;

/**
 * The answer to a dry run that found nothing wrong. It says nothing about what would be drawn.
 * @param more members of `effect`
 */
export function dryRunReply(counts: CountsEffect, revision: number, more: object = {}): StudyReply {
  const results = JSON.stringify({ effect: { counts, ...more } });
  return { status: 200, message: SUCCESS, results, revision, headers: DRY_RUN_HEADER };
}
