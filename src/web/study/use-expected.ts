/** The actual and the expected balance of a study, for those who may see it. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import type { Expected } from '../../base/charts/difference-chart.tsx';
import type { DifferencePoint } from '../../base/charts/series.ts';
import { ApiProblem, AUTOMATIC, api, results, type Schemas } from '../api/client.ts';
import { designQuery } from '../parts/design-query.ts';
import { useScope, useSession } from '../session/session.tsx';

const RENEW_MS = 60_000;
const AGAIN_AFTER_SECONDS = 5;

/**
 * Each answer is recorded. So it is fetched when somebody opens the page or comes back to it, and not with every new
 * participant: its key does not begin like those that are fetched again then.
 */
const expectedQuery = (study: string) =>
  queryOptions({
    queryKey: ['expected', study],
    queryFn: ({ signal }) =>
      results(api.GET('/expected_balance', { params: { query: { study } }, signal, headers: AUTOMATIC })),
    staleTime: RENEW_MS,
    // The service works it out meanwhile.
    retry: (_, error) => error instanceof ApiProblem && error.status === 503,
    retryDelay: (_, error) =>
      1000 * ((error instanceof ApiProblem ? error.retryAfter : undefined) ?? AGAIN_AFTER_SECONDS),
  });

export function useMayExpect(): boolean {
  const { limits } = useSession();
  const isReader = useScope('read', 'audit');
  const isBlinded = useScope('blinded');
  return isReader && !isBlinded && limits.length === 0;
}

interface ExpectedCourse {
  readonly points: readonly DifferencePoint[];
  readonly band: readonly Expected[];
  /** The percentile of the largest difference so far. */
  readonly percentile: number;
}

/**
 * @returns `course` is undefined until it has arrived, or if it is unavailable. `hasNone`: the study follows a list that was made
 *   elsewhere, of which nobody here knows what was to be expected
 */
export function useExpected(study: string) {
  const mayExpect = useMayExpect();
  const mayReadDesign = useScope('read');
  const { data: inForce } = useQuery({ ...designQuery(study), enabled: mayExpect && mayReadDesign });
  const isListed = inForce?.design.method === 'list';
  const isEnabled = mayExpect && !isListed && (!mayReadDesign || inForce !== undefined);
  const { data, error, isPending } = useQuery({ ...expectedQuery(study), enabled: isEnabled });
  return {
    course: data && courseOf(data),
    isWorkedOut: isEnabled && isPending,
    hasNone: isListed || (error instanceof ApiProblem && error.status === 422),
  };
}

/** Begins with nobody enrolled. */
function courseOf({ points, overall, course }: Schemas['ExpectedBalance']): ExpectedCourse {
  const at = (i: number, quantile: number) => overall.expected[i]?.[quantile] ?? 0;
  return {
    points: [
      { enrolled: 0, difference: 0 },
      ...points.map((enrolled, i) => ({ enrolled, difference: overall.actual[i] ?? 0 })),
    ],
    band: [
      { enrolled: 0, low: 0, high: 0 },
      ...points.map((enrolled, i) => ({ enrolled, low: at(i, 0), high: at(i, 4) })),
    ],
    percentile: Math.round(course.percentile * 100),
  };
}
