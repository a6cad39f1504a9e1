/**
 * The log is moved to another store: `log`, which speaks for every stream, is closed in the source and continues in the target
 * or, if the move is given up, in the source. The protocol is in docs/adr/0011-moving-a-log.md. Versions up to 0.3.0 closed
 * every other stream as well.
 */
import { z } from 'zod';
import { defineEvent, type FactOf } from './define.ts';

/** Id of the move, the same in all streams of the log. */
const move = z.uuid();
/** Describes a store for people, without credentials. */
const Store = z.string().min(1);
const reason = z.string().min(1).optional();
const inTheClear = { sections: {}, optionalSections: {} } as const;

/** Nothing may follow in this store unless the move is given up. The target holds the same record. */
export const LogMoved = defineEvent('LogMoved', 1, {
  ...inTheClear,
  stream: 'every',
  data: z.strictObject({ move, to: Store, reason }),
});

/** The move was given up after its target was closed for good: the stream continues in the source. */
export const LogReopened = defineEvent('LogReopened', 1, {
  ...inTheClear,
  stream: 'every',
  data: z.strictObject({ move }),
});

/** In the target: all records of the source are here, and the stream continues. In `log`, this completes the move. */
export const LogArrived = defineEvent('LogArrived', 1, {
  ...inTheClear,
  stream: 'every',
  data: z.strictObject({ move, from: Store }),
});

/** In the target: LogArrived can no longer follow, and so neither can anything else. */
export const CopyAborted = defineEvent('CopyAborted', 1, {
  ...inTheClear,
  stream: 'log',
  data: z.strictObject({ move, reason }),
});

export type MoveFact =
  | FactOf<typeof LogMoved>
  | FactOf<typeof LogReopened>
  | FactOf<typeof LogArrived>
  | FactOf<typeof CopyAborted>;
