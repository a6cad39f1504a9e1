import { useSyncExternalStore } from 'react';

/** As in style/parts.css. */
const narrow = window.matchMedia('(max-width: 760px)');

/** Whether the screen is narrow, for what cannot be said in a style sheet. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches);
}

function subscribe(changed: () => void): () => void {
  narrow.addEventListener('change', changed);
  return () => narrow.removeEventListener('change', changed);
}
