/**
 * Schemas compiled to code. Every record is checked when it is written and at every start when it is read, which zod
 * does in about 4 µs and a page of garbage, and compiled code in 1 µs and none.
 */
import { createRequire } from 'node:module';
import { z } from 'zod';

type Check = (value: unknown) => boolean;

/**
 * So many values of a schema zod checks itself: to load the compiler takes 0.1 s, which a command that reads a short log
 * would spend in vain.
 */
const COMPILED_FROM = 1000;

const require = createRequire(import.meta.url);
let compile: ((schema: object) => Check) | undefined;

function compiler(): (schema: object) => Check {
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  // The schemas are zod's and need no check of their own. Formats are not lost: zod writes each as a pattern as well.
  const ajv = new Ajv2020({ validateFormats: false, validateSchema: false, meta: false });
  return (schema) => ajv.compile(schema);
}

/**
 * Parses as `schema.safeParse` does, and faster when the value is valid. Of a value that is not, zod itself says so,
 * and what is wrong with it. For schemas of plain JSON that change nothing: no defaults, transforms or refinements.
 */
export function compiled<T>(
  schema: z.ZodType<T>,
  compiledFrom = COMPILED_FROM,
): (value: unknown) => z.ZodSafeParseResult<T> {
  let checked = 0;
  let isValid: Check | undefined;
  return (value) => {
    if (isValid === undefined && checked++ >= compiledFrom) {
      compile ??= compiler();
      isValid = compile(z.toJSONSchema(schema));
    }
    return isValid?.(value) ? { success: true, data: value as T } : schema.safeParse(value);
  };
}
