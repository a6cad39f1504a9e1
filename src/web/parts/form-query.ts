import { queryOptions } from '@tanstack/react-query';
import { api, results } from '../api/client.ts';

/** What forms ask about a participant. It names no arm. */
export const formQuery = (study: string) =>
  queryOptions({
    queryKey: ['form', study],
    queryFn: ({ signal }) => results(api.GET('/study_form', { params: { query: { study } }, signal })),
  });
