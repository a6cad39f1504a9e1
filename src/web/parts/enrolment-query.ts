import { queryOptions } from '@tanstack/react-query';
import { api, results } from '../api/client.ts';
import { headersFor } from '../api/unasked.ts';

/** How a study has grown, and how many participants each level has. */
export const enrolmentQuery = (study: string) =>
  queryOptions({
    queryKey: ['study', study, 'enrolment'],
    queryFn: ({ signal, queryKey }) =>
      results(api.GET('/enrolment', { params: { query: { study } }, signal, headers: headersFor(queryKey) })),
  });
