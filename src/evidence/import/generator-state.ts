/** Reads the generator's state as the reference writes it: a Python dict in a CSV file, JSON in a database. */
import { z } from 'zod';
import type { BgState } from '../../../events/study.ts';
import { Pcg64 } from '../../core/random/pcg64.ts';

/** Longer than any state. */
const MAX_LENGTH = 1000;
/** A member given twice is one too many. */
const MEMBERS = 6;
/** The strings and integers of both forms. No string of a state needs an escape, and none has the sign of an integer. */
const SCALAR = /'([^'"\\#]*)'|"([^"\\#]*)"|(\d+)/g;

/** An integer, kept as text: it may be larger than a double holds exactly. */
const Integer = z
  .string()
  .regex(/^#(0|[1-9]\d{0,38})$/)
  .transform((text) => text.slice(1));
const StateInFile = z.strictObject({
  bit_generator: z.literal('PCG64'),
  state: z.strictObject({ state: Integer, inc: Integer }),
  has_uint32: Integer,
  uinteger: Integer,
});

/**
 * Reads strings, whole numbers and dicts, and evaluates nothing.
 * @returns undefined if the text is not a state that a PCG64 can have
 */
export function readBgState(text: string): BgState | undefined {
  if (text.length > MAX_LENGTH || text.includes('#')) return undefined;
  const json = text.replaceAll(SCALAR, (_, single?: string, double?: string, digits?: string) =>
    JSON.stringify(digits === undefined ? (single ?? double) : `#${digits}`),
  );
  if (json.split(':').length - 1 !== MEMBERS) return undefined;
  try {
    const { state, has_uint32, uinteger } = StateInFile.parse(JSON.parse(json));
    return Pcg64.restore({
      bit_generator: 'PCG64',
      has_uint32: Number(has_uint32) as 0 | 1,
      state: { inc: state.inc, state: state.state },
      uinteger: Number(uinteger),
    }).snapshot();
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError || error instanceof RangeError)
      return undefined;
    throw error;
  }
}
