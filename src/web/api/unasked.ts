/** Fetches again what is on the page without anybody asking for it: live lists and polling. */
import { hashKey, type QueryClient, type QueryKey } from '@tanstack/react-query';
import { AUTOMATIC, ConnectionLost } from './client.ts';

/** The queries that are being asked again, by their hashes. Their retries are automatic too. */
const unasked = new Set<string>();

/** The headers of a query's request. */
export function headersFor(queryKey: QueryKey): Readonly<Record<string, string>> {
  return unasked.has(hashKey(queryKey)) ? AUTOMATIC : {};
}

/**
 * Fetches again the queries on the page that begin with one of the keys.
 * @returns whether the service answered
 */
export async function refetchUnasked(queries: QueryClient, keys: readonly QueryKey[]): Promise<boolean> {
  const shown = keys.flatMap((queryKey) => queries.getQueryCache().findAll({ queryKey, type: 'active' }));
  for (const { queryHash } of shown) unasked.add(queryHash);
  try {
    await Promise.all(
      keys.map((queryKey) => queries.refetchQueries({ queryKey, type: 'active' }, { cancelRefetch: false })),
    );
  } finally {
    for (const { queryHash } of shown) unasked.delete(queryHash);
  }
  return shown.every(({ state }) => !(state.error instanceof ConnectionLost));
}
