/** Sentences about a decider: given what happened, when this is asked, then these facts follow and this is the answer. */
import { expect } from 'vitest';
import type { Fact } from '../../events/catalogue.ts';
import type { Actor } from '../../events/record.ts';
import type { Decider } from '../../src/core/write/decider.ts';
import { ASKED, event, NURSE } from './facts.ts';

/** A fact, and who caused it if that was not the nurse. */
type Happened<F> = F | { readonly by: Actor; readonly fact: F };

export function sentences<State, Command, F extends Fact, Outcome>(
  decider: Decider<State, Command, F, Outcome>,
  initial: () => State,
) {
  const fold = (history: readonly Happened<F>[]) =>
    history.reduce((state, happened, revision) => {
      const { by, fact } = 'by' in happened ? happened : { by: NURSE, fact: happened };
      return decider.evolve(state, event(fact, revision, { actor: by }));
    }, initial());

  return (history: readonly Happened<F>[]) => ({
    when: (command: Command) => {
      const state = fold(history);
      const decision = decider.decide(state, command, ASKED);
      // Deciding is pure: it can be repeated, it moves nothing, and a fork decides as its original does.
      expect(decider.decide(state, command, ASKED)).toEqual(decision);
      expect(decider.decide(decider.fork(state), command, ASKED)).toEqual(decision);
      expect(state).toEqual(fold(history));
      return {
        // biome-ignore lint/suspicious/noThenProperty: the third word of the sentence; nobody awaits it
        then: (facts: readonly F[], outcome: Outcome) => {
          expect(decision.outcome).toEqual(outcome);
          expect(decision.fact === undefined ? [] : [decision.fact]).toEqual(facts);
        },
      };
    },
  });
}
