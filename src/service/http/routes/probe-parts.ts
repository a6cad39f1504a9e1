/** What /healthz and /readyz share in the OpenAPI document. */
import { envelopeOf, type Json, ref, response } from '../request/operation.ts';

/** An operation that needs no key. */
export function probeOperation(summary: string, operationId: string): Json {
  const responses = {
    200: response('Success', envelopeOf({ type: 'object' }), {
      message: 'Success',
      results: {},
      status: 200,
    }),
    503: response('Not ready', ref('Error'), {
      message: 'The service is starting',
      results: [],
      status: 503,
    }),
  };
  return { tags: ['Operation'], summary, operationId, security: [], responses };
}
