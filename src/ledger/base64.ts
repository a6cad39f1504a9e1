/**
 * Canonical base64 with padding (RFC 4648 §4 and §3.5): exactly one text for each sequence of bytes. Node's decoder
 * accepts much more, so a signature could be written in several ways and a changed character could go unnoticed.
 *
 * @returns undefined when encoding the bytes again does not give the same text
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
