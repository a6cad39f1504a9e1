import { queryOptions } from '@tanstack/react-query';
import { api, results } from '../api/client.ts';

/** The studies that the key may see. */
export const studiesQuery = queryOptions({
  queryKey: ['studies'],
  queryFn: ({ signal }) => results(api.GET('/studies', { signal })),
});
