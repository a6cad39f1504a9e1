/** What happened besides the allocations, as `GET /operations` and `urn operations --json` show it. */
import { z } from 'zod';
import { LogArrived, LogMoved, LogReopened } from '../../../events/log.ts';
import {
  EvidenceDisclosed,
  RequestRefused,
  ServiceStarted,
  ServiceStopped,
  SessionBegan,
  SessionEnded,
} from '../../../events/operations.ts';
import { Actor, type LogEvent } from '../../../events/record.ts';

const COMMON = {
  revision: z.int().nonnegative(),
  at: z.string().meta({ description: 'When it was written, in ISO 8601 (UTC)' }),
  actor: Actor.meta({
    description:
      'The user of the key. For a start or stop, the user who runs the service. For the command line, `cli`.',
  }),
};

export const Operation = z.discriminatedUnion('type', [
  z.strictObject({ ...COMMON, type: z.literal('ServiceStarted'), data: ServiceStarted.data }),
  z.strictObject({ ...COMMON, type: z.literal('ServiceStopped'), data: ServiceStopped.data }),
  z.strictObject({ ...COMMON, type: z.literal('RequestRefused'), data: RequestRefused.data }),
  z.strictObject({ ...COMMON, type: z.literal('EvidenceDisclosed'), data: EvidenceDisclosed.data }),
  z.strictObject({ ...COMMON, type: z.literal('SessionBegan'), data: SessionBegan.data }),
  z.strictObject({ ...COMMON, type: z.literal('SessionEnded'), data: SessionEnded.data }),
  // Versions up to 0.3.0 recorded a move of the log in every stream.
  z.strictObject({ ...COMMON, type: z.literal('LogMoved'), data: LogMoved.data }),
  z.strictObject({ ...COMMON, type: z.literal('LogReopened'), data: LogReopened.data }),
  z.strictObject({ ...COMMON, type: z.literal('LogArrived'), data: LogArrived.data }),
]);

/** An `Operation`, if the event is of the stream `operations`. */
export function operationOf({ revision, at, type, actor, data }: LogEvent) {
  return { revision, at, type, actor, data };
}
