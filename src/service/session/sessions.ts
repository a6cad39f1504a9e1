/** The sessions of people who work in a browser: begins, opens, renews and ends them. */
import type { OperationsFact } from '../../../events/operations.ts';
import type { Runner } from '../../../projections/runner.ts';
import { endedSessions, forgetSessions } from '../../../projections/sessions.ts';
import { BudgetError } from '../../base/errors.ts';
import { EMERGENCY_WAIT_MS, withinMs } from '../../base/waiting.ts';
import { Budget } from '../operations/budget.ts';
import { OPERATIONS, type Operations } from '../operations/operations.ts';
import type { KeyActor } from '../operations/recorder.ts';
import { seal, unseal } from './sealed-cookie.ts';
import { isCurrent, newSession, type Session } from './session.ts';
import { openingKeys, type SessionSecret } from './session-key.ts';

/** Each sign-in is recorded, so that is how many a key may make in an hour. */
const SIGN_INS_AN_HOUR = 600;

export interface SessionParts {
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
    if (!this.#budget.spend(keyId, ms)) throw tooMany(this.#budget.renewsIn(keyId, ms));
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

function tooMany(renewsInMs: number): BudgetError {
  return new BudgetError(
    `This API key has signed in ${SIGN_INS_AN_HOUR} times within an hour, which is the most, since each is recorded (hint: wait ${Math.ceil(renewsInMs / 60_000)} min)`,
    renewsInMs,
  );
}
