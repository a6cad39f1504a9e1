/** Who is signed in. Without a session, nothing but the sign-in form is on the page. */
import { useQueryClient } from '@tanstack/react-query';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { flushSync } from 'react-dom';
import { ApiProblem, AUTOMATIC, api, listenToRequests, results, type Schemas } from '../api/client.ts';

type Session = Schemas['Session'];
export type Scope = Session['scopes'][number];

type Phase =
  /** Nothing is known yet. */
  | { readonly is: 'asking' }
  | { readonly is: 'out'; readonly why: 'not-yet' | 'ended' | 'signed-out' | 'only-here' }
  | { readonly is: 'unreachable'; readonly error: Error }
  | { readonly is: 'in'; readonly session: Session };

interface SessionContext {
  readonly phase: Phase;
  /** @throws ApiProblem, ConnectionLost */
  signIn(key: string, person: string): Promise<void>;
  /** @throws ApiProblem, ConnectionLost */
  signOut(): Promise<void>;
  /** Asks the service again. */
  check(): Promise<void>;
}

const Context = createContext<SessionContext | undefined>(undefined);

/** Tells the other tabs of this browser. */
const CHANNEL = 'urn-session';
const IDLE_MS = 30 * 60_000;
const CHECK_MS = 60_000;

/** When a person last did something here: a request that was not automatic. */
let lastAct = Date.now();

/** The later of two times: from what was done in this tab, and from what the service has heard from all tabs. */
export function idleEndsAt({ idle_ends_at }: Session): number {
  return Math.max(lastAct + IDLE_MS, Date.parse(idle_ends_at));
}

/** Who is signed in, as far as this tab knows, and what changes that. */
function usePhase() {
  const queries = useQueryClient();
  const [phase, setPhase] = useState<Phase>({ is: 'asking' });
  /** The session that this tab showed last. */
  const known = useRef<string>(undefined);

  const leave = useCallback(
    (why: Extract<Phase, { is: 'out' }>['why']) => {
      queries.clear();
      // A randomization whose answer is still awaited survives the end of a session, but not a sign-out.
      if (why !== 'ended') sessionStorage.clear();
      setPhase((before) => {
        if (why !== 'ended' || before.is === 'in') return { is: 'out', why };
        // Several requests may be refused at once. Only the first of them ends the session.
        return before.is === 'out' ? before : { is: 'out', why: 'not-yet' };
      });
    },
    [queries],
  );

  const enter = useCallback(
    (session: Session) => {
      // Another tab signed in anew, perhaps with another key: what the old one could see is not for the new one.
      if (known.current !== undefined && known.current !== sessionName(session)) queries.clear();
      known.current = sessionName(session);
      setPhase({ is: 'in', session });
    },
    [queries],
  );

  /** After a sign-in, whatever was shown before. */
  const begin = useCallback(
    (session: Session) => {
      queries.clear();
      known.current = undefined;
      enter(session);
    },
    [queries, enter],
  );

  const check = useCallback(async () => {
    try {
      enter(await results(api.GET('/session', { headers: AUTOMATIC })));
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 401) leave('ended');
      else setPhase((before) => (before.is === 'in' ? before : { is: 'unreachable', error: error as Error }));
    }
  }, [enter, leave]);

  return { phase, setPhase, begin, leave, check };
}

/** A page that the back button brings back shows nothing until the session is confirmed. */
function useHiddenWhenAway(setPhase: (phase: Phase) => void, check: () => Promise<void>) {
  const queries = useQueryClient();
  useEffect(() => {
    const hide = () => {
      queries.clear();
      flushSync(() => setPhase({ is: 'asking' }));
    };
    const show = ({ persisted }: PageTransitionEvent) => persisted && void check();
    window.addEventListener('pagehide', hide);
    window.addEventListener('pageshow', show);
    return () => {
      window.removeEventListener('pagehide', hide);
      window.removeEventListener('pageshow', show);
    };
  }, [setPhase, check, queries]);
}

/**
 * Asks the service whether the session is over: once a minute while the page is visible, and when time is up. The key may
 * have been revoked, and another tab may have prolonged the session.
 */
function useRegularCheck(phase: Phase, check: () => Promise<void>) {
  useEffect(() => {
    if (phase.is !== 'in') return undefined;
    const { session } = phase;
    let askedAt = Date.now();
    const timer = setInterval(() => {
      const now = Date.now();
      const isDue = !document.hidden && now - askedAt >= CHECK_MS;
      if (!isDue && now <= Math.min(idleEndsAt(session), Date.parse(session.ends_at))) return;
      askedAt = now;
      void check();
    }, 10_000);
    return () => clearInterval(timer);
  }, [phase, check]);
}

export function SessionProvider({ children }: { children: ReactNode }) {
  const [channel] = useState(() => new BroadcastChannel(CHANNEL));
  const { phase, setPhase, begin, leave, check } = usePhase();
  useEffect(() => {
    listenToRequests({
      onNoSession: () => leave('ended'),
      onAct: () => {
        lastAct = Date.now();
      },
    });
    void check();
  }, [check, leave]);

  useEffect(() => {
    channel.onmessage = ({ data }) => (data === 'signed-out' ? leave('signed-out') : void check());
  }, [channel, check, leave]);

  useHiddenWhenAway(setPhase, check);
  useRegularCheck(phase, check);

  const context = useMemo<SessionContext>(
    () => ({
      phase,
      check,
      async signIn(key, person) {
        const body = { key, ...(person !== '' && { on_behalf_of: person }) };
        begin(await results(api.POST('/session', { body })));
        channel.postMessage('signed-in');
      },
      async signOut() {
        const { recorded } = await results(api.DELETE('/session'));
        channel.postMessage('signed-out');
        leave(recorded ? 'signed-out' : 'only-here');
      },
    }),
    [phase, check, begin, channel, leave],
  );
  return <Context value={context}>{children}</Context>;
}

/** Tells sessions apart. */
export function sessionName({ key_id, began_at }: Session): string {
  return `${key_id} ${began_at}`;
}

export function useSessionContext(): SessionContext {
  const context = useContext(Context);
  if (!context) throw new Error('used outside SessionProvider');
  return context;
}

/** The session, on pages that are shown only when there is one. */
export function useSession(): Session {
  const { phase } = useSessionContext();
  if (phase.is !== 'in') throw new Error('used without a session');
  return phase.session;
}

export function useScope(...scopes: Scope[]): boolean {
  const session = useSession();
  return scopes.some((scope) => session.scopes.includes(scope));
}
