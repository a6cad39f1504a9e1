/** What /readyz says, which asks for no key: states and numbers, and the name of no study. */
import { STANDINGS, type Standing } from '../study/standing.ts';

/** How many studies are in each state. */
export function countStates(standings: Iterable<Standing>): Map<Standing['state'], number> {
  const counts = new Map<Standing['state'], number>(STANDINGS.map((state) => [state, 0]));
  for (const { state } of standings) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

/** "2 studies take no participants: 1 suspended, 1 endangered"; undefined when all take them. */
export function describeStates(counts: ReadonlyMap<Standing['state'], number>): string | undefined {
  const closed = [...counts].filter(([state, count]) => state !== 'open' && count > 0);
  const total = closed.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return undefined;
  const states = closed.map(([state, count]) => `${count} ${state}`).join(', ');
  return `${total === 1 ? '1 study takes' : `${total} studies take`} no participants: ${states}`;
}

/**
 * Why no POST can work; undefined when one can. A paused study answers, with 409, and no other instance answers otherwise.
 * @param refusal why nothing may be written to the log at all
 * @param isCutOff whether the store was last heard of as failing
 */
export function notWritable(
  counts: ReadonlyMap<Standing['state'], number>,
  refusal: { readonly code: string } | undefined,
  isCutOff: boolean,
): string | undefined {
  const states = describeStates(counts);
  if (refusal) return states ?? `The log takes nothing: it is ${refusal.code}`;
  if (isCutOff) return 'The store does not answer';
  const answering = (counts.get('open') ?? 0) + (counts.get('paused') ?? 0);
  return answering === 0 ? states : undefined;
}
