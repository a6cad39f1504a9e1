/** A life of a study with packs at visits, decided step by step and compared with what the specification says of it. */
import { expect } from 'vitest';
import type { Scope } from '../../events/access.ts';
import type { Actor, LogEvent } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import type { AccessCommand } from '../../src/core/access/keys.ts';
import type { Model } from '../../src/core/model/model.ts';
import type { StudyOutcome } from '../../src/core/model/outcomes.ts';
import { fork, type StudyState, studyState } from '../../src/core/study/fold.ts';
import { type Log, logOf, STUDY, STUDY_ID } from '../unit/verify/support.ts';
import { type FlatAct, tryWritten, writtenDecider } from './acts.ts';
import { ARMS, BEGINNING, type Request, SITE, USERS, type User, type VisitStep } from './arbitrary-visits.ts';
import { OPERATOR, REGISTER } from './facts.ts';
import { type Comes, PackOracle } from './pack-oracle.ts';
import { VISITS_SEED } from './visits.ts';

/** Of the lives. */
export const LIVES_STUDY: StudyConfiguration = {
  ...REGISTER.configuration,
  ...{ mode: 'test', treatments: ARMS, factors: [{ name: SITE, levels: ['N', 'S'] }] },
  visits: ['V2', 'V3', 'Week 12'],
};
/** Of the users but the last one, in order. */
export const GRANTS: readonly { readonly scopes: readonly Scope[]; readonly levels?: readonly string[] }[] = [
  { scopes: ['randomize', 'correct'] },
  { scopes: ['randomize', 'correct'], levels: ['N'] },
  { scopes: ['supply'] },
];
const KEYS: readonly AccessCommand[] = GRANTS.map(({ scopes, levels }, n) => ({
  ...{ type: 'issue', keyId: `k${n}`, sha256: `${n}`.repeat(64) },
  grant: {
    ...{ scopes: [...scopes], user: USERS[n] ?? '' },
    ...(levels && { where: [{ factor: SITE, levels: [...levels] }] }),
  },
}));
const actorOf = (user: User): Actor => {
  const n = USERS.indexOf(user);
  return user === 'operator' ? OPERATOR : { keyId: `k${n}`, user, accessRevision: n };
};

/** What a request led to, in the words of the specification. */
function came(outcome: StudyOutcome, type: string): Comes {
  if (outcome.type !== 'recorded') return outcome.type;
  const { code, visit, by, to } = outcome.data as Readonly<Record<string, string | undefined>>;
  if (type === 'CodeReplaced') return by === undefined ? {} : { code: by };
  if (type === 'DispensationCorrected') return { code: `${code}`, visit: to ?? null };
  return { ...(code !== undefined && { code }), visit: `${visit}` };
}

/**
 * A life in memory: each request is answered as the specification says, and so is a dry run of it.
 * @throws AssertionError if it is not
 */
export class VisitsLife {
  readonly oracle = new PackOracle();
  readonly log: Log = logOf([], KEYS);
  readonly events: LogEvent[] = [];
  /** The requests that were recorded, after the registration. */
  readonly done: Request[] = [];
  /** What the specification said of each request for a pack. */
  readonly said: Comes[] = [];
  #state: StudyState = fork(studyState.initial());

  constructor(steps: readonly VisitStep[]) {
    const registration = { ...REGISTER, studyId: STUDY_ID, configuration: LIVES_STUDY, seed: VISITS_SEED };
    this.#ask({ by: 'operator', written: registration });
    this.#all(BEGINNING);
    expect(this.events).toHaveLength(1 + BEGINNING.length);
    this.#all(steps);
  }

  get model(): Model {
    if (this.#state.status === 'unregistered') throw new Error('the study is not registered');
    return this.#state;
  }

  #all(steps: readonly VisitStep[]): void {
    for (const step of steps) this.#ask(step(this.oracle, this.model.design.amendment + 1));
  }

  #ask({ by, written, says, isPossible }: Request): void {
    if (says) {
      const { act } = written as FlatAct;
      const asked = JSON.stringify({ by, ...written });
      expect(came(tryWritten(this.#state, written as FlatAct), act), `dry run: ${asked}`).toEqual(says(true));
      this.said.push(says(false));
      expect(came(writtenDecider.decide(this.#state, written).outcome, act), asked).toEqual(says(false));
    }
    const { fact, outcome } = writtenDecider.decide(this.#state, written);
    if (isPossible !== undefined) expect(outcome.type === 'amended').toBe(isPossible);
    if (!fact) return;
    if (fact.type === 'ParticipantRandomized') {
      const { participantId, levels, code } = fact.data;
      const { treatment } = fact.sections.allocation;
      expect(code).toBe(this.oracle.least(participantId, treatment, levels[0]?.level ?? ''));
    }
    const revision = this.events.length;
    if (revision > 0) this.done.push({ by, written });
    const at = new Date(Date.UTC(2026, 2, 1, 10) + revision * 1000).toISOString();
    const event = this.log.append(STUDY, fact, actorOf(by), at);
    this.events.push(event);
    this.oracle.take(fact, revision);
    this.#state = writtenDecider.evolve(this.#state, event);
  }
}
