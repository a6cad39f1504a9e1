import { queryOptions } from '@tanstack/react-query';
import { api, results, type Schemas } from '../api/client.ts';
import { headersFor } from '../api/unasked.ts';

export type StudyDesign = Schemas['StudyDesign'];

/** The design in force, the state of the study, and how far its limits are reached. */
export const designQuery = (study: string) =>
  queryOptions({
    queryKey: ['study', study, 'design'],
    queryFn: ({ signal, queryKey }) =>
      results(
        api.GET('/study_design', { params: { query: { study } }, signal, headers: headersFor(queryKey) }),
      ),
  });
