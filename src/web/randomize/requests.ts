/** The requests to the service about a participant to be randomized. */
import { answer, api, results } from '../api/client.ts';
import type { ParticipantRecord } from '../parts/record.ts';
import type { Draft } from './draft.ts';
import type { Pending } from './pending.ts';

/** What was recorded, as far as the key may see it. */
export interface Outcome {
  readonly draft: Draft;
  /** Absent if a correction has moved the participant out of the key's limits since. */
  readonly record: ParticipantRecord | undefined;
  readonly revision: number | undefined;
  /** A signed note. */
  readonly receipt: Uint8Array<ArrayBuffer>;
  /** The service had answered the same request before. */
  readonly isRepeated: boolean;
  readonly acting: string | undefined;
}

/** Long enough for a slow service, and short enough for somebody who is waiting. */
export const ANSWER_WITHIN_MS = 20_000;

const parametersOf = ({ study, id, levels }: Draft) => ({
  ...{ study, id, factors: Object.fromEntries(levels) },
  'urn.bg_state': 'omit' as const,
});

/** Everything is checked and nothing recorded. @throws ApiProblem, ConnectionLost */
export async function tryOut(draft: Draft): Promise<void> {
  const query = { ...parametersOf(draft), 'urn.dry_run': 'true' as const };
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  await results(api.POST('/study_participants', { params: { query }, signal }));
}

/** @throws ApiProblem, ConnectionLost; whatever else the signal aborts it with */
export async function randomize(pending: Pending, signal: AbortSignal): Promise<Outcome> {
  const { results, revision, headers } = await answer(
    api.POST('/study_participants', {
      params: { query: parametersOf(pending), header: { 'Idempotency-Key': pending.idempotencyKey } },
      signal,
    }),
  );
  return {
    draft: pending,
    record: Array.isArray(results) ? results[0] : undefined,
    revision,
    receipt: Uint8Array.from(atob(headers.get('Urn-Receipt') ?? ''), (byte) => byte.charCodeAt(0)),
    isRepeated: headers.get('Urn-Repeated') === 'true',
    acting: pending.acting,
  };
}

/** What is recorded for the id, if the key may see it. */
export async function recordOf({ study, id }: Draft): Promise<ParticipantRecord | undefined> {
  const query = { study, id, 'urn.bg_state': 'omit' as const };
  const [record] = await results(api.GET('/study_participants', { params: { query } }));
  return record;
}
