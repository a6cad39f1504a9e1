/** The sessions that were ended by a sign-out and would otherwise still be valid. */
import type { Projection } from './runner.ts';

/** No session lasts longer after its sign-in. */
export const LONGEST_SESSION_MS = 12 * 3_600_000;
/** How far the clocks of two instances may differ. */
export const SESSION_CLOCKS_MS = 60_000;

/** When each was ended, in ms since 1970, in the order of the log. By session id. */
type EndedSessions = Map<string, number>;

/** Older ones are forgotten by the time of the events, so what is kept is bounded however long the log is. */
const KEPT_MS = LONGEST_SESSION_MS + SESSION_CLOCKS_MS;

export const endedSessions: Projection<EndedSessions> = {
  name: 'ended-sessions',
  stream: 'operations',
  initial: () => new Map(),
  apply(ended, event) {
    if (event.type !== 'SessionEnded') return ended;
    const at = Date.parse(event.at);
    ended.set(event.data.sessionId, at);
    forgetSessions(ended, at);
    return ended;
  },
};

/** Drops those that have been over for longer than any session lasts. */
export function forgetSessions(ended: EndedSessions, now: number): void {
  for (const [sessionId, endedAt] of ended) {
    if (now - endedAt <= KEPT_MS) return;
    ended.delete(sessionId);
  }
}
