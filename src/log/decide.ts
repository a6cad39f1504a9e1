/** The decider of the log's own stream: it is recovered. */
import type { LogFact, RecoveredStream } from '../../events/log.ts';
import { type LogHistory, lastRecovery, logHistory } from '../../projections/log.ts';
import type { Decider, Decision } from '../write/decider.ts';

export interface DeclareRecovery {
  readonly type: 'recover';
  readonly reason: string;
  readonly recovery: number;
  /** All streams. */
  readonly streams: readonly RecoveredStream[];
}

export type LogCommand = DeclareRecovery;

export type LogOutcome =
  | { readonly type: 'recovered' }
  /** The log was recovered meanwhile, and what was worked out for the command no longer holds. */
  | { readonly type: 'overtaken' };

function decide(state: LogHistory, command: LogCommand): Decision<LogFact, LogOutcome> {
  const { reason, recovery, streams } = command;
  if (recovery <= lastRecovery(state)) return { outcome: { type: 'overtaken' } };
  const isStudy = ({ stream }: RecoveredStream) => stream.startsWith('study-');
  return {
    fact: {
      type: 'LogRecovered',
      data: { recovery, reason, streams: streams.filter((one) => !isStudy(one)) },
      sections: { studies: { streams: streams.filter(isStudy) } },
    },
    outcome: { type: 'recovered' },
  };
}

export const logDecider: Decider<LogHistory, LogCommand, LogFact, LogOutcome> = {
  decide,
  evolve: logHistory.apply,
  fork: (state) => state,
};
