/** Reads the generator's state as the reference writes it: a Python dict in a CSV file, JSON in a database. */
import { parseDocument } from 'yaml';
import { z } from 'zod';
import type { BgState } from '../../events/study.ts';
import { Pcg64 } from '../random/pcg64.ts';

const Integer = z.bigint().nonnegative();
const Read = z.strictObject({
  bit_generator: z.literal('PCG64'),
  state: z.strictObject({ state: Integer, inc: Integer }),
  has_uint32: Integer,
  uinteger: Integer,
});

/**
 * Both forms are YAML as well, whose reader keeps the integers whole and evaluates nothing.
 * @returns undefined if the text is not a state that a PCG64 can have
 */
export function readBgState(text: string): BgState | undefined {
  const document = parseDocument(text, {
    ...{ intAsBigInt: true, schema: 'core', uniqueKeys: true, prettyErrors: false, logLevel: 'silent' },
  });
  if (document.errors.length > 0) return undefined;
  try {
    const parsed = Read.safeParse(document.toJS({ maxAliasCount: 0 }));
    if (!parsed.success) return undefined;
    const { state, has_uint32, uinteger } = parsed.data;
    return Pcg64.restore({
      bit_generator: 'PCG64',
      has_uint32: Number(has_uint32) as 0 | 1,
      state: { inc: String(state.inc), state: String(state.state) },
      uinteger: Number(uinteger),
    }).snapshot();
  } catch (error) {
    // Of a number that is too large, and of a reference to another part of the text.
    if (error instanceof RangeError || error instanceof ReferenceError) return undefined;
    throw error;
  }
}
