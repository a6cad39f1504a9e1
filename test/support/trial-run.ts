/** A study without a store: commands go in, and what is written is folded as the service does it. */
import { expect } from 'vitest';
import type { StudyFact } from '../../events/catalogue.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import { participants } from '../../projections/participants.ts';
import type { StudyCommand, StudyOutcome } from '../../src/study/commands.ts';
import { studyDecider } from '../../src/study/decide.ts';
import { type RegisteredState, type StudyState, studyState } from '../../src/study/state.ts';
import { CONFIGURATION, event, LEVELS, REGISTER, randomize } from './facts.ts';
import { fixedTools } from './fixed-tools.ts';

type Said<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>;
type DataOf = { readonly [T in StudyFact['type']]: Said<T>['data'] };

export class TrialRun {
  state: StudyState = studyState.initial();
  list = participants.initial();
  facts: StudyFact[] = [];

  constructor(more: Partial<StudyConfiguration> = {}) {
    this.ask({ ...REGISTER, configuration: { ...CONFIGURATION, ...more } });
  }

  ask(command: StudyCommand): StudyOutcome {
    const { fact, outcome } = studyDecider.decide(this.state, command);
    if (!fact) return outcome;
    const recorded = this.#event(fact, this.facts.length);
    this.facts.push(fact);
    this.state = studyDecider.evolve(this.state, recorded);
    this.list = participants.apply(this.list, recorded);
    return outcome;
  }

  /** A second after the one before it. */
  #event(fact: StudyFact, revision: number) {
    const at = new Date(Date.UTC(2026, 2, 1, 9) + revision * 1000).toISOString();
    return event(fact, revision, { tools: fixedTools(revision, at) });
  }

  all(commands: readonly StudyCommand[]): string[] {
    return commands.map((command) => this.ask(command).type);
  }

  enrol(id: string, levels: readonly string[] = LEVELS, more = {}): StudyOutcome {
    return this.ask(randomize(id, { levels, ...more }));
  }

  get registered(): RegisteredState {
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
    return (fact as Said<T>).data as DataOf[T];
  }

  get bgState() {
    return this.registered.bgState;
  }
}
