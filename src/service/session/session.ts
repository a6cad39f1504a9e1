/** How long a session is valid. All times are in ms since 1970, by the clocks of the instances. */
import { randomBytes } from 'node:crypto';
import { LONGEST_SESSION_MS, SESSION_CLOCKS_MS } from '../../../projections/sessions.ts';

export interface Session {
  readonly sessionId: string;
  readonly keyId: string;
  /** The person who signed in with a shared key. Cookies sealed by earlier versions name nobody. */
  readonly onBehalfOf?: string | undefined;
  readonly beganAt: number;
  /** When a person last did something. */
  readonly usedAt: number;
}

/** A session ends after this much time without activity. */
const IDLE_MS = 30 * 60_000;
/** A cookie is not replaced for less. */
const RENEWAL_MS = 1000;

export function newSession(keyId: string, now: number, onBehalfOf?: string): Session {
  const sessionId = randomBytes(16).toString('base64url');
  return { sessionId, keyId, onBehalfOf, beganAt: now, usedAt: now };
}

/** By its times alone: it may have been ended by a sign-out. */
export function isCurrent(session: Session, now: number): boolean {
  const latest = now + SESSION_CLOCKS_MS;
  if (session.beganAt > latest || session.usedAt > latest) return false;
  return now < endOf(session) && now < idleEndOf(session);
}

export function endOf({ beganAt }: Session): number {
  return beganAt + LONGEST_SESSION_MS;
}

export function idleEndOf({ usedAt }: Session): number {
  return usedAt + IDLE_MS;
}

/** The session after an act of a person; undefined if its cookie need not be replaced. */
export function renewed(session: Session, now: number): Session | undefined {
  return now - session.usedAt < RENEWAL_MS ? undefined : { ...session, usedAt: now };
}
