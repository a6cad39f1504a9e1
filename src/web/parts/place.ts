/**
 * Which study and participant a page is about. They are in the fragment of the URL, which a browser keeps to itself: it is
 * in no request, in no log of a proxy and in no Referer.
 */
import { useMemo } from 'react';
import { useLocation } from 'react-router';

export interface Place {
  readonly study: string | undefined;
  /** A participant's id. */
  readonly id: string | undefined;
}

export function usePlace(): Place {
  const { hash } = useLocation();
  return useMemo(() => {
    const params = new URLSearchParams(hash.slice(1));
    return { study: params.get('study') ?? undefined, id: params.get('id') ?? undefined };
  }, [hash]);
}

/** The address of a page about a study, or about one participant. */
export function address(page: string, study?: string, id?: string): string {
  const params = new URLSearchParams();
  if (study !== undefined) params.set('study', study);
  if (id !== undefined) params.set('id', id);
  const hash = params.toString();
  return `/pages/${page}${hash && `#${hash}`}`;
}
