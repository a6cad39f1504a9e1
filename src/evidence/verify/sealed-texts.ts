/**
 * Sealed texts that a record may have and a request may not: who asked for a code-break, and the key of a request. Notes and
 * reasons are free texts, whose form is checked.
 */
const MAX_LENGTH = 2000;

export function hasTextThatHttpRefuses(sections: object): boolean {
  const { grounds, request } = sections as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  return [grounds?.['requestedBy'], request?.['idempotencyKey']].some(
    (text) => typeof text === 'string' && (/\p{Cc}/u.test(text) || [...text].length > MAX_LENGTH),
  );
}
