import type { Ledger } from '../../../core/log/ledger.ts';

/**
 * The header with a signed checkpoint of the study that includes the record at this revision, in base64. All answers of a
 * batch carry the same checkpoint, which is signed once.
 */
export function receiptHeader(ledger: Ledger, stream: string, revision: number) {
  const { size, base64 } = ledger.checkpoint(stream);
  if (size <= revision) throw new Error('an event that was decided is not in the ledger');
  return { 'Urn-Receipt': base64 };
}

/** The request had been answered before, and nothing more was recorded. */
export const REPEATED_HEADER = { 'Urn-Repeated': 'true' } as const;

/** The headers of the answer to an act, for the OpenAPI document. */
export const ACT_HEADERS = {
  'Urn-Receipt': {
    description:
      'A signed checkpoint that includes the new event: the whole note (as in /checkpoint) in base64, at most 1000 characters. Keep it. Nothing that it covers can be changed unnoticed.',
    schema: { type: 'string', maxLength: 1000 },
  },
  'Urn-Repeated': {
    description:
      '`true` if the same request, with the same Idempotency-Key, had been answered before: nothing more was recorded',
    schema: { type: 'string', enum: ['true'] },
  },
};
