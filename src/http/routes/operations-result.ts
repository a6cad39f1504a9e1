/** Operations as HTTP shows them, checked against their schema before they leave. */
import { z } from 'zod';
import {
  EvidenceDisclosed,
  RequestRefused,
  ServiceStarted,
  ServiceStopped,
} from '../../../events/operations.ts';
import { Actor, type LogEvent } from '../../../events/record.ts';
import { resultJson } from '../request/schemas.ts';

const about = {
  revision: z.int().nonnegative(),
  at: z.string().meta({ description: 'When it was written, in ISO 8601 (UTC)' }),
  actor: Actor.meta({
    description:
      'The user with the key; of a start and a stop, who runs the service. On the command line: cli',
  }),
};

export const OperationsResult = z.array(
  z.discriminatedUnion('type', [
    z.strictObject({ ...about, type: z.literal('ServiceStarted'), data: ServiceStarted.data }),
    z.strictObject({ ...about, type: z.literal('ServiceStopped'), data: ServiceStopped.data }),
    z.strictObject({ ...about, type: z.literal('RequestRefused'), data: RequestRefused.data }),
    z.strictObject({ ...about, type: z.literal('EvidenceDisclosed'), data: EvidenceDisclosed.data }),
  ]),
);

export function operationsJson(events: readonly LogEvent[]): string {
  const shown = events.map(({ revision, at, actor, type, data }) => ({ revision, at, type, actor, data }));
  return resultJson<unknown>(OperationsResult, shown);
}
