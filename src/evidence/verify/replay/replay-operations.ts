import type { Scope } from '../../../../events/access.ts';
import type { LogEvent } from '../../../../events/record.ts';
import type { Mismatch } from '../report/report.ts';
import type { Warnings } from '../report/warnings.ts';
import { mismatch } from './differences.ts';
import type { KeyHistory } from './key-history.ts';
import type { Replay } from './replay.ts';

type Disclosed = Extract<LogEvent, { type: 'EvidenceDisclosed' }>;
type Session = Extract<LogEvent, { type: 'SessionBegan' | 'SessionEnded' }>;

/** The scopes that may see it, any one of them, where that is not `audit` alone. */
const SCOPES_FOR: Partial<Record<Disclosed['data']['what'], readonly Scope[]>> = {
  codes: ['supply'],
  'expected-balance': ['read', 'audit'],
};

/**
 * Replays the stream `operations`. Its events do not follow from others, so there is nothing to decide again. But the keys
 * that they name must exist, a key that was shown evidence must have been valid, and a run ends at most once.
 */
export class OperationsReplay implements Replay {
  readonly #history: KeyHistory;
  readonly #warnings: Warnings;
  /** Runs without a recorded end. Runs that were killed stay here. */
  readonly #running = new Set<string>();

  constructor(history: KeyHistory, warnings: Warnings) {
    this.#history = history;
    this.#warnings = warnings;
  }

  take(event: LogEvent): readonly Mismatch[] {
    const found = this.#judge(event);
    return found ? [found] : [];
  }

  #judge(event: LogEvent): Mismatch | undefined {
    const { actor } = event;
    switch (event.type) {
      case 'ServiceStarted':
      case 'ServiceStopped':
        if ('keyId' in actor)
          return mismatch('actor', 'a person at the command line', actor.keyId, 'no key can do this');
        return this.#judgeRun(event.type, event.data.runId);
      case 'RequestRefused':
        if ('cli' in actor)
          return mismatch('actor', 'a key', actor.user, 'nobody is refused at the command line');
        return this.#history.judgeKnown(event, 'any', this.#warnings);
      case 'EvidenceDisclosed':
        return (
          this.#history.judgeKnown(event, SCOPES_FOR[event.data.what] ?? ['audit'], this.#warnings) ??
          this.#judgeStudy(event) ??
          judgeExport(event) ??
          judgeTest(event)
        );
      case 'SessionBegan':
      case 'SessionEnded':
        if ('cli' in actor)
          return mismatch('actor', 'a key', actor.user, 'nobody signs in at the command line');
        return this.#history.judgeKnown(event, 'valid', this.#warnings) ?? judgeSession(event);
      default:
        throw new Error(`${event.type} does not belong in the stream operations`);
    }
  }

  #judgeRun(type: 'ServiceStarted' | 'ServiceStopped', runId: string): Mismatch | undefined {
    if (type === 'ServiceStopped') {
      if (this.#running.delete(runId)) return undefined;
      return mismatch(
        'data.runId',
        'a run that was started',
        runId,
        'this run was not started, or has ended',
      );
    }
    if (this.#running.has(runId))
      return mismatch('data.runId', undefined, runId, 'this run was started before');
    this.#running.add(runId);
    return undefined;
  }

  #judgeStudy({ actor, data }: Disclosed): Mismatch | undefined {
    const limits = 'keyId' in actor ? this.#history.state.byId.get(actor.keyId)?.studies : undefined;
    if (!limits || limits.includes(data.study)) return undefined;
    return mismatch('actor.keyId', `a key for ${data.study}`, limits, 'the key is limited to other studies');
  }
}

/** The digest of a file that shows arms is sealed, and only an export has such a digest. */
function judgeExport({ actor, data, sections }: Disclosed): Mismatch | undefined {
  const { what, content, sha256 } = data;
  if (what !== 'export')
    return sections.file && mismatch('sections.file', undefined, 'file', `${what} has no such section`);
  if ('keyId' in actor)
    return mismatch('actor', 'a person at the command line', actor.keyId, 'no key can do this');
  if (content === 'blinded' || sha256 === undefined) return undefined;
  return mismatch('data.sha256', undefined, sha256, 'the digest of a file with arms is not in the clear');
}

/** Only the command line compares arms, and only that needs a reason for an interim look. */
function judgeTest({ actor, data: { what, interim } }: Disclosed): Mismatch | undefined {
  if (what !== 'rerandomization')
    return interim === undefined
      ? undefined
      : mismatch('data.interim', undefined, interim, `${what} has no such member`);
  if ('keyId' in actor)
    return mismatch('actor', 'a person at the command line', actor.keyId, 'no key can do this');
  return undefined;
}

function judgeSession({ actor, data }: Session): Mismatch | undefined {
  if ('keyId' in actor && actor.keyId === data.keyId) return undefined;
  return mismatch('data.keyId', 'the key of the actor', data.keyId, 'the session is of another key');
}
