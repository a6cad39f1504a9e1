/** Texts that a spreadsheet takes for formulas, and computes when a file of them is opened. */

const BEGINNING = /^[=+\-@\t\r]/;

/** The text as a spreadsheet shows it unchanged. For every other program, the apostrophe is part of the text. */
export function guarded(text: string): string {
  return BEGINNING.test(text) ? `'${text}` : text;
}

/** Why a text must not reach a spreadsheet, as the end of a sentence; undefined if it may. */
export function formulaProblem(text: string): string | undefined {
  const [first] = BEGINNING.exec(text) ?? [];
  return first === undefined
    ? undefined
    : `begins with ${JSON.stringify(first)}, which a spreadsheet takes for the beginning of a formula`;
}
