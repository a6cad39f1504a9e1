/**
 * GET /healthz and /readyz: whether the process is alive, and whether the service can answer. They need no key, so they show
 * states and counts but never the name of a study.
 */
import type { Request, Response } from 'express';
import type { DomainError } from '../../../base/errors.ts';
import { counted } from '../../../base/wording.ts';
import { RECRUITMENT_STATES, type Recruitment } from '../../../core/study/studies.ts';
import { probeOperation } from '../request/openapi-operation.ts';
import { parseQuery } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { SUCCESS, send } from '../request/reply.ts';
import { requireReady, type Services } from '../request/study-request.ts';

export const healthOperation = probeOperation('Check that the process is alive', 'health');

export function getHealth(_: Request, response: Response): void {
  send(response, { status: 200, message: SUCCESS, results: '{}' });
}

export interface ReadinessParts extends Pick<Services, 'studies' | 'runner' | 'notReady'> {
  /** Why nothing may be written to the log. */
  readonly writeRefusal: () => DomainError | undefined;
  /** Why the log finds no room for a record, as the end of a sentence. */
  readonly noRoom: () => string | undefined;
}

export const readinessOperation = {
  ...probeOperation(
    'Check that reads work: the projections have caught up with the log. The message counts the studies that take no participants, by state',
    'readiness',
  ),
  parameters: [
    {
      name: 'urn.for',
      in: 'query',
      description: 'With `writing`, check instead whether a POST can work',
      schema: { type: 'string', enum: ['writing'] },
    },
  ],
};

export function getReadiness({ studies, runner, notReady, writeRefusal, noRoom }: ReadinessParts) {
  return (request: Request, response: Response): void => {
    requireReady(notReady);
    const purpose = parseQuery(request.url).get('urn.for');
    if (purpose !== undefined && purpose !== 'writing')
      throw new HttpProblem(400, 'urn.for must be "writing" (leave it out to ask whether reads work)');
    const counts = countStates(studies.recruitments().values());
    const why = purpose && notWritable(counts, writeRefusal(), runner.isCutOff, noRoom());
    if (why !== undefined) throw new HttpProblem(503, why, { 'Retry-After': '1' });
    const message = describeStates(counts) ?? SUCCESS;
    send(response, { status: 200, message, results: '{}' });
  };
}

/** How many studies are in each state. */
export function countStates(recruitments: Iterable<Recruitment>): Map<Recruitment['state'], number> {
  const counts = new Map<Recruitment['state'], number>(RECRUITMENT_STATES.map((state) => [state, 0]));
  for (const { state } of recruitments) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

/** "2 studies take no participants: 1 suspended, 1 endangered"; undefined when all studies take them. */
function describeStates(counts: ReadonlyMap<Recruitment['state'], number>): string | undefined {
  const closed = [...counts].filter(([state, count]) => state !== 'open' && count > 0);
  const total = closed.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return undefined;
  const states = closed.map(([state, count]) => `${count} ${state}`).join(', ');
  return `${counted(total, 'study takes', 'studies take')} no participants: ${states}`;
}

/**
 * Why no POST can work, or undefined when one can. A paused study counts as working: it answers 409, as any other instance
 * would.
 * @param refusal why nothing may be written to the log at all
 * @param isCutOff whether the last news from the store was a failure
 */
function notWritable(
  counts: ReadonlyMap<Recruitment['state'], number>,
  refusal: { readonly code: string } | undefined,
  isCutOff: boolean,
  noRoom: string | undefined,
): string | undefined {
  const states = describeStates(counts);
  if (refusal) return states ?? `The log takes nothing: it is ${refusal.code}`;
  if (isCutOff) return 'The store does not answer';
  if (noRoom !== undefined) return `The log takes nothing but emergencies: ${noRoom}`;
  const answering = (counts.get('open') ?? 0) + (counts.get('paused') ?? 0);
  return answering === 0 ? states : undefined;
}
