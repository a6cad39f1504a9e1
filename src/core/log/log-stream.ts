/**
 * The log's own stream, `log`: who appends to it, and how recoveries and rotations of the signing key are decided. The log's
 * beginning and its moves to another store are recorded there without this writer.
 */
import type { LogFact, RecoveredStream } from '../../../events/log.ts';
import { type LogHistory, lastRecovery, logHistory } from '../../../projections/log.ts';
import type { Decider, Decision } from '../write/decider.ts';
import { foldedStream, type LogParts, type Permission, Writer } from '../write/writer.ts';

export const LOG_STREAM = 'log';

export type LogWriter = Writer<LogHistory, LogCommand, LogFact, LogOutcome>;

/** @param permission `recover` to declare a loss, which is needed only when the log lacks records or was moved */
export function logWriter(parts: LogParts, permission: Permission = 'write'): LogWriter {
  const folded = foldedStream(parts, logHistory, LOG_STREAM, permission);
  return new Writer({ ...parts, stream: LOG_STREAM, decider: logDecider, folded });
}

type LogCommand = DeclareRecovery | RotateKey;

interface DeclareRecovery {
  readonly type: 'recover';
  readonly reason: string;
  readonly recovery: number;
  /** All streams of the log. */
  readonly streams: readonly RecoveredStream[];
}

interface RotateKey {
  readonly type: 'rotate';
  readonly reason: string;
  /** Verifier key of the current key, which has endorsed the new one. */
  readonly from: string;
  readonly to: string;
  readonly endorsement: string;
}

interface LogOutcome {
  /** `overtaken`: the log has changed in the meantime, and the command no longer applies. */
  readonly type: 'recovered' | 'rotated' | 'overtaken';
}

export const logDecider = {
  decide: decideLog,
  // What has overtaken a command is in the log.
  mayChange: () => false,
  evolve: logHistory.apply,
  fork: (state) => state,
} satisfies Decider<LogHistory, LogCommand, LogFact, LogOutcome>;

function decideLog(state: LogHistory, command: LogCommand): Decision<LogFact, LogOutcome> {
  return command.type === 'recover' ? recover(state, command) : rotate(state, command);
}

function recover(
  state: LogHistory,
  { reason, recovery, streams }: DeclareRecovery,
): Decision<LogFact, LogOutcome> {
  const kept = streams.find(({ stream }) => stream === LOG_STREAM)?.kept;
  if (recovery <= lastRecovery(state) || kept !== state.records) return { outcome: { type: 'overtaken' } };
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

function rotate(
  state: LogHistory,
  { reason, from, to, endorsement }: RotateKey,
): Decision<LogFact, LogOutcome> {
  if (state.publicKeys.at(-1) !== from) return { outcome: { type: 'overtaken' } };
  return {
    fact: { type: 'SigningKeyRotated', data: { publicKey: to, endorsement, reason }, sections: {} },
    outcome: { type: 'rotated' },
  };
}
