/** An id as a study wants it, for those whose id does not match its pattern. */
import { textOfForm } from './linear-pattern.ts';
import { newIdProblem, problemsOfId } from './participant-id.ts';

/**
 * Made from the pattern alone, so it says nothing about anybody in the study. Undefined if there is no simple one.
 * @param matches whether a text matches the pattern
 */
export function exampleId(pattern: string, matches: (id: string) => boolean | undefined): string | undefined {
  const text = textOfForm(pattern);
  if (text === undefined || !matches(text)) return undefined;
  const [problem] = problemsOfId(text);
  return (problem ?? newIdProblem(text)) === undefined ? text : undefined;
}
