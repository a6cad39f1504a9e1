/** What a participant's id may be, whatever it is called in a request, an event or a filter. */

/** Ids have 1 to 128 code points, no control characters, and no white space at either end. */
export function* problemsOfId(id: string): Iterable<string> {
  if (id === '') yield 'id is empty';
  // A code point has at most two units.
  if (id.length > 128 && [...id].length > 128) yield 'id has more than 128 characters';
  if (/\p{Cc}/u.test(id)) yield 'id contains a control character';
  if (/^\s|\s$/u.test(id)) yield 'id begins or ends with white space';
}
