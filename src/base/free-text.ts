/** The longest free text that is recorded, in code points. */
const MAX_LENGTH = 2000;

/**
 * Why a free text cannot be recorded, as the end of a sentence; undefined if it can.
 * @param least in code points
 */
export function freeTextProblem(text: string, least: number): string | undefined {
  if (/[^\P{Cc}\n\t]/u.test(text)) return 'contains a control character';
  if (/\p{Cs}/u.test(text)) return 'contains a lone surrogate';
  const { length } = [...text];
  if (length < least || length > MAX_LENGTH || text.trim() === '')
    return `must be ${least} to ${MAX_LENGTH} characters`;
  return undefined;
}
