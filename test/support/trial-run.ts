/** A study without a store: commands go in, and what is written is folded as the service does it. */
import { expect } from 'vitest';
import type { StudyFact } from '../../events/catalogue.ts';
import type { BgState, DesignChange, MethodParameters, StudyConfiguration } from '../../events/study.ts';
import type { BalanceView } from '../../src/core/model/balance.ts';
import { generatorOf, type Model } from '../../src/core/model/model.ts';
import type { StudyOutcome } from '../../src/core/model/outcomes.ts';
import type { Participants } from '../../src/core/model/participants.ts';
import type { ImportParticipant } from '../../src/core/study/commands.ts';
import { balance, fork, participants, type StudyState, studyState } from '../../src/core/study/fold.ts';
import type { Occasion } from '../../src/core/write/decider.ts';
import { type Written, writtenDecider } from './acts.ts';
import { CONFIGURATION, event, LEVELS, REGISTER, randomize } from './facts.ts';
import { fixedTools } from './fixed-tools.ts';
import { beginImport, drawnRows } from './import-facts.ts';

type Said<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>;

export class TrialRun {
  state: StudyState = studyState.initial();
  facts: StudyFact[] = [];

  /** @param more of a study without urns, its whole configuration */
  constructor(
    more: Partial<StudyConfiguration> = {},
    seed = REGISTER.seed,
    parameters: MethodParameters = {},
  ) {
    const configuration = 'method' in more ? (more as StudyConfiguration) : { ...CONFIGURATION, ...more };
    this.ask({ ...REGISTER, seed, configuration, parameters });
  }

  ask(command: Written, occasion?: Occasion): StudyOutcome {
    const { fact, outcome } = writtenDecider.decide(this.state, command, occasion);
    if (!fact) return outcome;
    const revision = this.facts.length;
    // A second after the one before it.
    const at = new Date(Date.UTC(2026, 2, 1, 9) + revision * 1000).toISOString();
    const recorded = event(fact, revision, { tools: fixedTools(revision, at) });
    this.facts.push(fact);
    this.state = writtenDecider.evolve(this.state, recorded);
    return outcome;
  }

  /** What must be recorded. @returns the part in the clear */
  record(command: Written): Readonly<Record<string, string>> {
    const outcome = this.ask(command);
    expect(outcome, JSON.stringify(command)).toMatchObject({ type: 'recorded' });
    return ('data' in outcome ? outcome.data : {}) as Readonly<Record<string, string>>;
  }

  /** The next amendment, which must be possible. */
  amend(...changes: readonly DesignChange[]): void {
    const amendment = this.registered.design.amendment + 1;
    const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-03-01' }];
    const asked = { type: 'amend', user: 'nurse', reason: 'as planned' } as const;
    const outcome = this.ask({ ...asked, amendment, changes, approvals });
    expect(outcome, JSON.stringify(changes)).toEqual({ type: 'amended' });
  }

  /** From here on, on a fork, as a replay is from its first event on. */
  onFork(): this {
    this.state = fork(this.state);
    return this;
  }

  /** The same study on a fork: what happens to one of them does not happen to the other. */
  copy(): TrialRun {
    const copy = new TrialRun();
    copy.state = fork(this.state);
    copy.facts = [...this.facts];
    return copy;
  }

  all(commands: readonly Written[]): string[] {
    return commands.map((command) => this.ask(command).type);
  }

  enrol(id: string, levels: readonly string[] = LEVELS, more = {}): StudyOutcome {
    return this.ask(randomize(id, { levels, ...more }));
  }

  get list(): Participants {
    return participants.select(this.state);
  }

  /** On a fork, which shows no lists, there is none. */
  get balance(): BalanceView | undefined {
    return balance.select(this.state)?.view();
  }

  get registered(): Model {
    if (this.state.status === 'unregistered') throw new Error('the study is not registered');
    return this.state;
  }

  /** n_k of each level of each factor. */
  counts(state = this.registered): number[][][] {
    return state.design.factors.map(({ levels }, factor) =>
      levels.map((_, level) => [...state.counts.of(factor, level)]),
    );
  }

  last<T extends StudyFact['type']>(type: T) {
    const fact = this.facts.at(-1);
    expect(fact?.type).toBe(type);
    return (fact as Said<T>).data as Said<T>['data'];
  }

  get bgState(): BgState {
    return generatorOf(this.registered);
  }
}

/** A history is coming in: `a` is its first participant. */
export function importingTrial(more: Partial<StudyConfiguration> = {}): TrialRun {
  const [row] = drawnRows([{}]) as [ImportParticipant];
  const trial = new TrialRun(more);
  trial.all([beginImport([row]), { ...row, participantId: 'a' }]);
  expect(trial.registered.status).toBe('importing');
  return trial;
}
