/** Keeps the page up to date with the study, and says how. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { refetchUnasked } from '../api/unasked.ts';
import { studiesQuery } from '../session/studies-query.ts';
import { listenForChanges } from './changes.ts';
import { paced } from './paced.ts';
import { keyOfStudy } from './queries.ts';

const AT_MOST_EVERY_MS = 1_000;
const POLL_MS = 10_000;

/** `polling`: the page checks every ten seconds. */
export type Liveness = 'connecting' | 'live' | 'polling' | 'offline';

export function useLive(study: string): Liveness {
  const queries = useQueryClient();
  const isOnline = useOnline();
  const [stream, setStream] = useState<'connecting' | 'open' | 'lost'>('connecting');
  const [isAnswered, setAnswered] = useState(true);

  useEffect(() => {
    const refresh = paced(async () => {
      setAnswered(await refetchUnasked(queries, [keyOfStudy(study), studiesQuery.queryKey]));
    }, AT_MOST_EVERY_MS);
    let isOpen = false;
    let isBehind = false;
    // A hidden tab checks when it is shown again.
    const checkIfVisible = () => {
      isBehind = document.hidden;
      if (!isBehind) refresh.ask();
    };
    const checkIfBehind = () => isBehind && checkIfVisible();
    document.addEventListener('visibilitychange', checkIfBehind);
    const end = listenForChanges(study, (news) => {
      if (news === 'change') {
        checkIfVisible();
        return;
      }
      isOpen = news === 'open';
      setStream(news);
    });
    const poll = setInterval(() => !isOpen && checkIfVisible(), POLL_MS);
    return () => {
      clearInterval(poll);
      end();
      document.removeEventListener('visibilitychange', checkIfBehind);
      refresh.stop();
    };
  }, [queries, study]);

  if (!isOnline || !isAnswered) return 'offline';
  if (stream === 'connecting') return 'connecting';
  return stream === 'open' ? 'live' : 'polling';
}

function useOnline(): boolean {
  return useSyncExternalStore(subscribeToOnline, () => navigator.onLine);
}

function subscribeToOnline(changed: () => void): () => void {
  window.addEventListener('online', changed);
  window.addEventListener('offline', changed);
  return () => {
    window.removeEventListener('online', changed);
    window.removeEventListener('offline', changed);
  };
}
