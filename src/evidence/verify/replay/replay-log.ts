import type { RecoveredStream } from '../../../../events/log.ts';
import type { EventOf, LogEvent } from '../../../../events/record.ts';
import { type LogHistory, lastRecovery, logHistory } from '../../../../projections/log.ts';
import type { VerifierKey } from '../../../core/log/signing.ts';
import { isEndorsed, keyOfLog } from '../../../core/log/signing.ts';
import type { Mismatch } from '../report/report.ts';
import { mismatch } from './differences.ts';
import type { Replay } from './replay.ts';

/** Replays the stream `log`: LogCreated, with a key that can sign and is trusted, then recoveries and new keys. */
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
