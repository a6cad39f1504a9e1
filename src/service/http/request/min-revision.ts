/**
 * The parameter `urn.min_revision`: the answer must show at least this revision of the study. A client that got a revision
 * from one instance (`Urn-Revision`) sends it to another, and so reads its own writes.
 */
import type { Runner } from '../../../../projections/runner.ts';
import { parseRevision, REVISION_FORM } from '../../../evidence/history/history.ts';
import { StoreError } from '../../../store/event-store.ts';
import { HttpProblem } from './problem.ts';
import type { Query } from './query.ts';

export const MIN_REVISION = 'urn.min_revision';

/** Projections follow the log within a second, and a waiting client holds a connection. */
const WAIT_MS = 5000;

/**
 * Waits until the projections show the revision that the request asks for.
 * @returns the query without the parameter
 * @throws HttpProblem 400 when it is not a revision, 503 when it is not shown in time
 */
export async function minRevisionShown(
  runner: Pick<Runner, 'reach' | 'revision'>,
  stream: string,
  query: Query,
): Promise<Query> {
  const wanted = parseRevision(query.get(MIN_REVISION) ?? '');
  if (wanted === undefined) throw new HttpProblem(400, `${MIN_REVISION} is not ${REVISION_FORM}`);
  if (!(await orUnavailable(runner.reach(stream, wanted, WAIT_MS))))
    throw new HttpProblem(
      503,
      `This instance shows revision ${runner.revision(stream)} of the study, and ${wanted} did not arrive within ${WAIT_MS / 1000} s (is it an Urn-Revision of this study?)`,
      { 'Retry-After': '1' },
    );
  return new Map([...query].filter(([name]) => name !== MIN_REVISION));
}

/** Waits for a reading of the log. @throws HttpProblem 503 when the log cannot be read */
export async function orUnavailable<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new HttpProblem(503, 'The log cannot be read at the moment', { 'Retry-After': '1' });
  }
}
