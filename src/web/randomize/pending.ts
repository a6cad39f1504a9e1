/**
 * A randomization that was sent and not answered yet. It is written down before it is sent, so that whatever happens to the
 * page, the same request can be sent again with the same Idempotency-Key: then the service repeats its answer instead of
 * randomizing a second time. It never holds an answer.
 */
import type { Draft } from './draft.ts';

export interface Pending extends Draft {
  readonly idempotencyKey: string;
  /** The API key whose session sent it, and the person who acted. Nobody else asks for its answer unknowingly. */
  readonly keyId: string;
  readonly acting: string | undefined;
}

const PLACE = 'urn.pending';

export function writePending(draft: Draft, keyId: string, acting: string | undefined): Pending {
  const pending = { ...draft, idempotencyKey: crypto.randomUUID(), keyId, acting };
  sessionStorage.setItem(PLACE, JSON.stringify({ ...pending, levels: [...draft.levels] }));
  return pending;
}

export function readPending(): Pending | undefined {
  const text = sessionStorage.getItem(PLACE);
  if (text === null) return undefined;
  const stored = JSON.parse(text);
  return { ...stored, levels: new Map(stored.levels) };
}

export function removePending(): void {
  sessionStorage.removeItem(PLACE);
}
