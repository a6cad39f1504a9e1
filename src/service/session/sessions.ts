/**
 * The sessions of people who work in a browser: begun, opened, renewed and ended. All that a session is stands in its
 * encrypted cookie, so every instance that has the session key can open it. That it was ended stands in the log.
 *
 * All times are in ms since 1970, by the clocks of the instances.
 */
import { randomBytes } from 'node:crypto';
import { CompactEncrypt, compactDecrypt } from 'jose';
import { z } from 'zod';
import type { OperationsFact } from '../../../events/operations.ts';
import type { Runner } from '../../../projections/runner.ts';
import {
  endedSessions,
  forgetSessions,
  LONGEST_SESSION_MS,
  SESSION_CLOCKS_MS,
} from '../../../projections/sessions.ts';
import { BudgetError } from '../../base/errors.ts';
import { EMERGENCY_WAIT_MS, withinMs } from '../../base/waiting.ts';
import { OPERATIONS, type Operations } from '../operations/operations-stream.ts';
import { Budget, type KeyActor } from '../operations/recorder.ts';
import { openingKeys, type SessionSecret } from './session-key.ts';

export interface Session {
  readonly sessionId: string;
  readonly keyId: string;
  /** The person who signed in with a shared key. */
  readonly onBehalfOf?: string | undefined;
  readonly beganAt: number;
  /** When a person last did something. */
  readonly usedAt: number;
}

/** Each sign-in is recorded, so that is how many a key may make in an hour. */
const SIGN_INS_AN_HOUR = 600;

interface SessionParts {
  readonly logId: string;
  readonly secret: SessionSecret;
  readonly runner: Runner;
  readonly operations: Pick<Operations, 'record'>;
  readonly now?: () => number;
  /** A sign-in or sign-out could not be recorded. */
  onFailure(fact: OperationsFact, actor: KeyActor, error: Error): void;
}

export class Sessions {
  readonly #parts: SessionParts;
  readonly now: () => number;
  readonly #budget = new Budget(SIGN_INS_AN_HOUR);
  /** Ended by this process, whether this could be recorded or not. */
  readonly #endedHere = new Map<string, number>();

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.now = parts.now ?? Date.now;
  }

  /**
   * Begins a session of the actor, even if this cannot be recorded: somebody may have to break a code.
   * @throws BudgetError
   */
  async begin(actor: KeyActor): Promise<Session> {
    const { keyId, onBehalfOf } = actor;
    const ms = performance.now();
    if (!this.#budget.spend(keyId, ms)) throw tooManySignIns(this.#budget.renewsIn(keyId, ms));
    const session = newSession(keyId, this.now(), onBehalfOf);
    await this.#record('SessionBegan', session, actor);
    return session;
  }

  /** The value of its cookie. */
  seal(session: Session): Promise<string> {
    const { logId, secret } = this.#parts;
    return seal(session, secret().current, logId);
  }

  /** The session of a cookie, if it is valid now. Its key may not be. */
  async open(cookie: string): Promise<Session | undefined> {
    const { logId, secret } = this.#parts;
    const session = await unseal(cookie, openingKeys(secret(), this.now()), logId);
    return session && this.isOpen(session) ? session : undefined;
  }

  isOpen(session: Session): boolean {
    const { sessionId } = session;
    if (this.#endedHere.has(sessionId)) return false;
    if (this.#parts.runner.state(endedSessions, OPERATIONS).has(sessionId)) return false;
    return isCurrent(session, this.now());
  }

  /**
   * Ends a session. In this process it ends immediately.
   * @returns whether it is recorded, and so has ended for every instance
   */
  end(session: Session, actor: KeyActor): Promise<boolean> {
    const now = this.now();
    forgetSessions(this.#endedHere, now);
    this.#endedHere.set(session.sessionId, now);
    return this.#record('SessionEnded', session, actor);
  }

  async #record(
    type: 'SessionBegan' | 'SessionEnded',
    { sessionId, keyId }: Session,
    actor: KeyActor,
  ): Promise<boolean> {
    const { operations, onFailure } = this.#parts;
    const fact = { type, data: { sessionId, keyId }, sections: {} } as const;
    const recording = operations.record(fact, actor);
    // Its outcome does not matter here, but a rejection must not end the process.
    recording.catch(() => undefined);
    try {
      await withinMs(EMERGENCY_WAIT_MS, recording);
      return true;
    } catch (error) {
      onFailure(fact, actor, error as Error);
      return false;
    }
  }
}

function tooManySignIns(renewsInMs: number): BudgetError {
  return new BudgetError(
    `This API key has signed in ${SIGN_INS_AN_HOUR} times within an hour, which is the most, since each is recorded (hint: wait ${Math.ceil(renewsInMs / 60_000)} min)`,
    renewsInMs,
  );
}

export function newSession(keyId: string, now: number, onBehalfOf?: string): Session {
  const sessionId = randomBytes(16).toString('base64url');
  return { sessionId, keyId, onBehalfOf, beganAt: now, usedAt: now };
}

/** A session ends after this much time without activity. */
const IDLE_MS = 30 * 60_000;
/** A cookie is not replaced for less. */
const RENEWAL_MS = 1000;

/** Whether it is valid by its times alone: it may have been ended by a sign-out. */
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

const ALGORITHM = 'dir';
const ENCRYPTION = 'A256GCM';
/** Longer than any cookie made here. */
const LONGEST_COOKIE = 2048;

const MsSince1970 = z.int().nonnegative();
const CookieContents = z.strictObject({
  sessionId: z.string().min(1),
  keyId: z.string().min(1),
  onBehalfOf: z.string().optional(),
  beganAt: MsSince1970,
  usedAt: MsSince1970,
});

/**
 * The value of the cookie: a session, encrypted and authenticated (JWE, compact: `dir` with A256GCM). The id of the log
 * is part of what is authenticated, so a cookie of one log is not valid for another, even under the same key.
 */
export function seal(session: Session, key: Uint8Array, logId: string): Promise<string> {
  return new CompactEncrypt(Buffer.from(JSON.stringify(session)))
    .setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION, log: logId })
    .encrypt(key);
}

/** @returns the session, or undefined if none of the keys sealed this cookie for this log */
export async function unseal(
  cookie: string,
  keys: readonly Uint8Array[],
  logId: string,
): Promise<Session | undefined> {
  if (cookie.length > LONGEST_COOKIE) return undefined;
  for (const key of keys) {
    const opened = await compactDecrypt(cookie, key, {
      keyManagementAlgorithms: [ALGORITHM],
      contentEncryptionAlgorithms: [ENCRYPTION],
    }).catch(() => undefined);
    if (opened?.protectedHeader['log'] === logId)
      return CookieContents.safeParse(JSON.parse(Buffer.from(opened.plaintext).toString('utf8'))).data;
  }
  return undefined;
}
