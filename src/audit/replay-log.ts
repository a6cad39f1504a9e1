import type { LogEvent } from '../../events/record.ts';
import { parseVerifierKey, type VerifierKey } from '../ledger/verifier-key.ts';
import { problem } from './differences.ts';
import type { Replay } from './replay.ts';
import type { Problem } from './report.ts';

/** The stream `log`: LogCreated, once, with a key that can sign and is trusted. */
export class LogReplay implements Replay {
  readonly #trusted: readonly VerifierKey[];

  /** @param trusted none: any key will do */
  constructor(trusted: readonly VerifierKey[]) {
    this.#trusted = trusted;
  }

  take({ type, revision, ...event }: LogEvent): readonly Problem[] {
    if (revision > 0) return [problem('type', undefined, type, 'nothing follows LogCreated')];
    const { logId, logName, publicKey } = (event as Extract<LogEvent, { type: 'LogCreated' }>).data;
    if (event.log !== logId)
      return [problem('data.logId', event.log, logId, 'the record and its data name two logs')];
    const key = logKey(publicKey);
    if (key?.name !== logName)
      return [
        problem(
          'data.publicKey',
          `a verifier key named ${logName}`,
          publicKey,
          'no such key can sign for this log',
        ),
      ];
    if (this.#trusted.length === 0 || this.#trusted.some(({ text }) => text === publicKey)) return [];
    const expected = this.#trusted.map(({ text }) => text).join(' or ');
    return [
      problem('data.publicKey', expected, publicKey, 'the key of this log is not the one that you trust'),
    ];
  }
}

/** The verifier key that LogCreated names; undefined when it is none. */
export function logKey(publicKey: string): VerifierKey | undefined {
  try {
    return parseVerifierKey(publicKey, 'publicKey');
  } catch {
    return undefined;
  }
}
