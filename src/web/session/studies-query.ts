import { queryOptions } from '@tanstack/react-query';
import { api, results } from '../api/client.ts';
import { headersFor } from '../api/unasked.ts';

/** The studies that the key may see. */
export const studiesQuery = queryOptions({
  queryKey: ['studies'],
  queryFn: ({ signal, queryKey }) => results(api.GET('/studies', { signal, headers: headersFor(queryKey) })),
});
