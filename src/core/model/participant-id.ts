/** The rules for participant ids. */
import { formulaProblem, lookAlikeProblem } from '../../base/text.ts';

/** An id, in a request, an event or a filter, has 1 to 128 code points, no control characters, and no white space at either end. */
export function* problemsOfId(id: string): Iterable<string> {
  if (id === '') yield 'id is empty';
  // A code point has at most two UTF-16 units, so a short string needs no count.
  if (id.length > 128 && [...id].length > 128) yield 'id has more than 128 characters';
  if (/\p{Cc}/u.test(id)) yield 'id contains a control character';
  if (/^\s|\s$/u.test(id)) yield 'id begins or ends with white space';
}

/**
 * Why nobody is given this id, as the end of a sentence; undefined if somebody may have it. Only for an id that is new to
 * the study and well-formed: what is recorded stays usable.
 */
export function newIdProblem(id: string): string | undefined {
  return lookAlikeProblem(id) ?? formulaProblem(id);
}
