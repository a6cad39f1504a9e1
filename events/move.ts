/**
 * The log is moved to another store: each stream is closed where it was, and goes on in the target or, when the move is
 * given up, where it was. docs/adr/0011-moving-a-log.md has the protocol.
 */
import { z } from 'zod';
import { defineEvent, type FactOf } from './define.ts';

/** One for all streams of the log. */
const move = z.uuid();
/** A store, for people: no credentials. */
const Store = z.string().min(1);
const reason = z.string().min(1).optional();
const inTheClear = { sections: {}, optionalSections: {} } as const;

/** Nothing may follow in this store, unless the move is given up. The target holds the same record. */
export const LogMoved = defineEvent('LogMoved', 1, {
  ...inTheClear,
  stream: 'every',
  data: z.strictObject({ move, to: Store, reason }),
});

/** The move was given up, after its target was closed for good: the stream goes on where it was. */
export const LogReopened = defineEvent('LogReopened', 1, {
  ...inTheClear,
  stream: 'every',
  data: z.strictObject({ move }),
});

/** In the target: all that the source has is here, and the stream goes on. In `log` it decides the move. */
export const LogArrived = defineEvent('LogArrived', 1, {
  ...inTheClear,
  stream: 'every',
  data: z.strictObject({ move, from: Store }),
});

/** In the target: LogArrived can stand here no more, and so nothing else. */
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
