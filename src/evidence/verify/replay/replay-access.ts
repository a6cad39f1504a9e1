import type { LogEvent } from '../../../../events/record.ts';
import { type AccessCommand, accessDecider } from '../../../core/access/keys.ts';
import type { Mismatch } from '../report/report.ts';
import { factDifferences, mismatch } from './differences.ts';
import type { KeyHistory } from './key-history.ts';
import { asMismatches, type Replay } from './replay.ts';

/** Replays the stream `access`: decides each issue and revocation of a key again and adds it to the history. */
export class AccessReplay implements Replay {
  readonly #history: KeyHistory;

  constructor(history: KeyHistory) {
    this.#history = history;
  }

  take(event: LogEvent): readonly Mismatch[] {
    if (!('cli' in event.actor))
      return [mismatch('actor', 'a person at the command line', event.actor.keyId, 'no key can do this')];
    const { fact, outcome } = accessDecider.decide(this.#history.state, commandOf(event));
    if (!fact) {
      const why = outcome.type === 'refused' ? outcome.why : REFUSED[outcome.type];
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

const REFUSED: Readonly<Record<string, string>> = {
  'key-id-taken': 'a key with that id, or that very key, was issued before',
  'unknown-key': 'no key with that id was issued before',
  'already-revoked': 'the key was revoked before',
};

function commandOf(event: LogEvent): AccessCommand {
  if (event.type === 'ApiKeyIssued') {
    const { keyId, ...grant } = event.data;
    return { type: 'issue', keyId, sha256: event.sections.credential.sha256, grant };
  }
  if (event.type === 'ApiKeyRevoked') return { type: 'revoke', ...event.data };
  throw new Error(`${event.type} does not belong in the stream access`);
}
