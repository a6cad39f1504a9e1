/** JSON text that JSON.stringify cannot write, and that JSON.parse takes although it should not. */

/**
 * JSON text of a response. JSON.stringify can neither write integers above 2^53 as bare numbers, which the contract wants,
 * nor keep the order of members with names like "10" and "9". So large integers are bigints here, and such objects are Maps.
 */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`;
  if (value instanceof Map) return objectJson([...value]);
  if (typeof value === 'object' && value !== null) return objectJson(Object.entries(value));
  return JSON.stringify(value);
}

function objectJson(entries: readonly (readonly [string, unknown])[]): string {
  const present = entries.filter(([, value]) => value !== undefined);
  return `{${present.map(([name, value]) => `${JSON.stringify(name)}:${toJson(value)}`).join(',')}}`;
}

/** A string, or a character that begins or ends something. Commas and other values say nothing about names or depth. */
const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g;

/**
 * What is wrong with a text that JSON.parse accepts, as the end of a sentence; undefined if nothing is. JSON.parse takes two
 * members with one name, of which it keeps the last, and any depth, without a word. Takes time in proportion to the length of
 * the text.
 * @param maxDepth how many objects and arrays may be inside one another
 */
export function jsonProblem(text: string, maxDepth: number): string | undefined {
  /** The names so far of each object that has begun and not ended; of an array, none. */
  const open: Set<string>[] = [];
  let string = '';
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    if (token === '{' || token === '[') {
      open.push(new Set());
      if (open.length > maxDepth) return `is nested more than ${maxDepth} levels deep`;
    } else if (token === '}' || token === ']') open.pop();
    else if (token !== ':') string = token;
    else {
      const names = open.at(-1);
      // An escaped letter is the same letter.
      const name = string.includes('\\') ? JSON.stringify(JSON.parse(string)) : string;
      if (names?.has(name)) return 'contains a duplicate member';
      names?.add(name);
    }
  }
  return undefined;
}
