/** Replays the streams that are no studies: `log`, `access` and `operations`. */
import type { Scope } from '../../../../events/access.ts';
import type { RecoveredStream } from '../../../../events/log.ts';
import type { EventOf, LogEvent } from '../../../../events/record.ts';
import { type LogHistory, lastRecovery, logHistory, outOfPlace } from '../../../../projections/log.ts';
import { type AccessCommand, accessDecider } from '../../../core/access/keys.ts';
import { isEndorsed, keyOfLog, type VerifierKey } from '../../../core/log/signing.ts';
import type { Mismatch, Warnings } from '../report/report.ts';
import type { KeyHistory } from './key-history.ts';
import { asMismatches, factDifferences, mismatch, type Replay } from './replay.ts';

/** Replays the stream `log`: LogCreated, with a key that can sign and is trusted, then recoveries, new keys and moves. */
export class LogReplay implements Replay {
  readonly #trusted: readonly VerifierKey[];
  readonly #keys: readonly VerifierKey[];
  #history: LogHistory = logHistory.initial();
  #created: EventOf<'LogCreated'>['data'] | undefined;
  #signer: VerifierKey | undefined;

  /**
   * @param trusted if empty, any key is accepted
   * @param keys the keys that the log claims as its own; one of them must be trusted
   */
  constructor(trusted: readonly VerifierKey[], keys: readonly VerifierKey[]) {
    this.#trusted = trusted;
    this.#keys = keys;
  }

  get history(): LogHistory {
    return this.#history;
  }

  take(event: LogEvent): readonly Mismatch[] {
    const found = this.#mismatch(event);
    if (found) return [found];
    this.#history = logHistory.apply(this.#history, event);
    return [];
  }

  #mismatch(event: LogEvent): Mismatch | undefined {
    if (event.type !== 'LogCreated' && (!this.#created || !this.#signer))
      return mismatch('type', 'LogCreated', event.type, 'the log does not begin with it');
    if (!('cli' in event.actor))
      return mismatch('actor', 'a person at the command line', event.actor.keyId, 'no key can do this');
    if (event.type === 'LogCreated') return this.#begin(event);
    if (!this.#created || !this.#signer) return undefined;
    const wrong = outOfPlace(this.#history, event);
    if (wrong) return mismatch(wrong.field, wrong.expected, wrong.found, wrong.why);
    if (event.type === 'LogMoved' || event.type === 'LogArrived') return undefined;
    if (event.type === 'LogRecovered') return recoveryMismatch(event, lastRecovery(this.#history));
    if (event.type === 'SigningKeyRotated') return this.#rotate(event, this.#created, this.#signer);
    throw new Error(`${event.type} does not belong in the stream log`);
  }

  #begin({ revision, log, type, data }: EventOf<'LogCreated'>): Mismatch | undefined {
    if (revision > 0) return mismatch('type', undefined, type, 'a log is created once');
    const { logId, logName, publicKey } = data;
    if (log !== logId) return mismatch('data.logId', log, logId, 'the record and its data name two logs');
    this.#signer = keyOfLog(publicKey, logName);
    if (!this.#signer)
      return mismatch(
        'data.publicKey',
        `a verifier key named ${logName}`,
        publicKey,
        'no such key can sign for this log',
      );
    this.#created = data;
    const keys = [this.#signer, ...this.#keys];
    if (this.#trusted.length === 0 || this.#trusted.some(({ text }) => keys.some((key) => key.text === text)))
      return undefined;
    const expected = this.#trusted.map(({ text }) => text).join(' or ');
    return mismatch(
      'data.publicKey',
      expected,
      publicKey,
      'the key of this log is not the one that you trust',
    );
  }

  #rotate(
    { data }: EventOf<'SigningKeyRotated'>,
    { logName, logId }: EventOf<'LogCreated'>['data'],
    signer: VerifierKey,
  ): Mismatch | undefined {
    const { publicKey, endorsement } = data;
    const next = keyOfLog(publicKey, logName);
    if (!next)
      return mismatch(
        'data.publicKey',
        `a verifier key named ${logName}`,
        publicKey,
        'no such key can sign for this log',
      );
    if (this.#history.publicKeys.includes(publicKey))
      return mismatch('data.publicKey', 'a new key', publicKey, 'this key has signed before');
    if (!isEndorsed(endorsement, { logName, logId, publicKey }, signer))
      return mismatch(
        'data.endorsement',
        `a note signed by ${signer.text}`,
        endorsement,
        'the key that signed until then did not endorse this one',
      );
    this.#signer = next;
    return undefined;
  }
}

function recoveryMismatch(
  { revision, data, sections }: EventOf<'LogRecovered'>,
  last: number,
): Mismatch | undefined {
  const { recovery, streams } = data;
  if (recovery <= last)
    return mismatch('data.recovery', `above ${last}`, recovery, 'not above the number of the last recovery');
  const isStudy = ({ stream }: RecoveredStream) => stream.startsWith('study-');
  const all = [...streams, ...sections.studies.streams];
  if (streams.some(isStudy) || !sections.studies.streams.every(isStudy))
    return mismatch('data.streams', 'no study', streams, 'the studies belong in the sealed section');
  if (new Set(all.map(({ stream }) => stream)).size < all.length)
    return mismatch('data.streams', 'each stream once', streams, 'a stream occurs twice');
  for (const { stream, signed } of all)
    if (signed && signed.recovery >= recovery)
      return mismatch(
        'data.recovery',
        `above ${signed.recovery}`,
        recovery,
        `what was signed of ${stream} is later`,
      );
  const kept = streams.find(({ stream }) => stream === 'log')?.kept;
  if (kept !== revision)
    return mismatch(
      'data.streams',
      `log, kept ${revision}`,
      kept,
      'not the number of records of the log before it',
    );
  return undefined;
}

/** Replays the stream `access`: decides each issue and revocation of a key again and adds it to the history. */
export class AccessReplay implements Replay {
  readonly #history: KeyHistory;

  constructor(history: KeyHistory) {
    this.#history = history;
  }

  take(event: LogEvent): readonly Mismatch[] {
    if (!('cli' in event.actor))
      return [mismatch('actor', 'a person at the command line', event.actor.keyId, 'no key can do this')];
    const { fact, outcome } = accessDecider.decide(this.#history.state, accessCommandOf(event));
    if (!fact) {
      const why = outcome.type === 'refused' ? outcome.why : KEY_REFUSALS[outcome.type];
      return [mismatch('data.keyId', undefined, event.type, `it would not have been decided: ${why}`)];
    }
    const differences = factDifferences(fact, event);
    if (differences.length > 0) return asMismatches(differences, 'deciding it again gives something else');
    this.#history.take(event);
    return [];
  }

  passed({ revision, at }: LogEvent): void {
    this.#history.noteTime(revision, at);
  }
}

const KEY_REFUSALS: Readonly<Record<string, string>> = {
  'key-id-taken': 'a key with that id, or that very key, was issued before',
  'unknown-key': 'no key with that id was issued before',
  'already-revoked': 'the key was revoked before',
};

function accessCommandOf(event: LogEvent): AccessCommand {
  if (event.type === 'ApiKeyIssued') {
    const { keyId, ...grant } = event.data;
    return { type: 'issue', keyId, sha256: event.sections.credential.sha256, grant };
  }
  if (event.type === 'ApiKeyRevoked') return { type: 'revoke', ...event.data };
  throw new Error(`${event.type} does not belong in the stream access`);
}

type Disclosed = Extract<LogEvent, { type: 'EvidenceDisclosed' }>;
type Session = Extract<LogEvent, { type: 'SessionBegan' | 'SessionEnded' }>;

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
          this.#history.judgeKnown(
            event,
            SCOPES_FOR_EVIDENCE[event.data.what] ?? ['audit'],
            this.#warnings,
          ) ??
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

/** The scopes that may see it, any one of them, where that is not `audit` alone. */
const SCOPES_FOR_EVIDENCE: Partial<Record<Disclosed['data']['what'], readonly Scope[]>> = {
  codes: ['supply'],
  'expected-balance': ['read', 'audit'],
};

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
