/** Whether an id matches the pattern of the study, judged as the service does. */
import { queryOptions } from '@tanstack/react-query';

type Matches = (id: string) => boolean;

/** The engine is large, so it is loaded only if there is a pattern. */
export const idPatternQuery = (pattern: string | undefined) =>
  queryOptions({
    queryKey: ['id-pattern', pattern],
    enabled: pattern !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: async (): Promise<Matches> => {
      const { RE2JS } = await import('re2js');
      const compiled = RE2JS.compile(pattern ?? '');
      return (id) => compiled.matches(id);
    },
  });
