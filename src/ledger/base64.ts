/**
 * Base64 with padding (RFC 4648 §4), canonical (§3.5): one text for each sequence of bytes. Node's own decoder takes
 * much more, so a signature could be written in several ways and a changed character go unnoticed.
 *
 * @returns undefined when the text is not what encoding its bytes gives
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
