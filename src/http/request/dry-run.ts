/** Trying out what a request would do. */

import { SUCCESS } from './reply.ts';
import type { StudyReply } from './study-request.ts';

/** What a command would do to the counts of the urns. */
export type CountsEffect = 'moves' | 'stays' | 'zero';

export const DRY_RUN_HEADER = { 'Urn-Dry-Run': 'true' } as const;

/** The answer to a dry run that found nothing wrong. It says nothing of what would be drawn. */
export function dryRunReply(counts: CountsEffect, revision: number): StudyReply {
  const results = JSON.stringify({ effect: { counts } });
  return { status: 200, message: SUCCESS, results, revision, headers: DRY_RUN_HEADER };
}
