/** Reads the literals of Python that stand in files of the reference: dicts, strings and whole numbers. Nothing is evaluated. */

export type PythonLiteral = string | bigint | { readonly [key: string]: PythonLiteral };

const TOKEN =
  /\s*(?:([{}:,])|'((?:[^'\\]|\\['"\\])*)'|"((?:[^"\\]|\\['"\\])*)"|(-?(?:0|[1-9]\d*))(?![\w.]))/y;
const MAX_DEPTH = 16;

/** @throws SyntaxError */
export function parsePythonLiteral(text: string): PythonLiteral {
  const token = new RegExp(TOKEN);
  const next = () => {
    const at = token.lastIndex;
    const found = token.exec(text);
    if (!found) throw new SyntaxError(`not a Python literal that is understood, at character ${at}`);
    const [, sign, single, double, digits] = found;
    const string = (single ?? double)?.replaceAll(/\\(.)/g, '$1');
    return { sign, value: string ?? (digits === undefined ? undefined : BigInt(digits)) };
  };
  const literal = (depth: number, { sign, value } = next()): PythonLiteral => {
    if (value !== undefined) return value;
    if (sign !== '{' || depth > MAX_DEPTH)
      throw new SyntaxError(`"${sign}" is not expected in a Python literal`);
    const members: [string, PythonLiteral][] = [];
    for (;;) {
      const key = next();
      if (key.sign === '}') return Object.fromEntries(members);
      if (typeof key.value !== 'string' || next().sign !== ':')
        throw new SyntaxError('a dict of strings is expected in a Python literal');
      members.push([key.value, literal(depth + 1)]);
      const { sign: after } = next();
      if (after === '}') return Object.fromEntries(members);
      if (after !== ',') throw new SyntaxError('a comma is expected in a Python literal');
    }
  };
  const value = literal(0);
  if (text.slice(token.lastIndex).trim() !== '') throw new SyntaxError('more than one Python literal');
  return value;
}
