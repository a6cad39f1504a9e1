/**
 * Which study and participant a page is about. They are in the fragment of the URL, which a browser keeps to itself: it
 * appears in no request, no log of a proxy and no Referer. `useFragment` reads it, `address` writes it.
 */
import { useMemo } from 'react';
import { useLocation } from 'react-router';

interface PageFragment {
  readonly study: string | undefined;
  /** A participant's id. */
  readonly id: string | undefined;
  /** What is about to be done there: the name of a form. */
  readonly act: string | undefined;
}

export function useFragment(): PageFragment {
  const { hash } = useLocation();
  return useMemo(() => {
    const params = new URLSearchParams(hash.slice(1));
    const get = (name: string) => params.get(name) ?? undefined;
    return { study: get('study'), id: get('id'), act: get('act') };
  }, [hash]);
}

/** The address of a page about a study, or about one participant, or of a form there. */
export function address(page: string, study?: string, id?: string, act?: string): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries({ study, id, act }))
    if (value !== undefined) params.set(name, value);
  const hash = params.toString();
  return `/pages/${page}${hash && `#${hash}`}`;
}
