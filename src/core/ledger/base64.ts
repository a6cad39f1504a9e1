/**
 * Canonical base64 with padding (RFC 4648 §4 and §3.5): exactly one text for each sequence of bytes. Decoders accept much
 * more, so a signature could be written in several ways and a changed character could go unnoticed. This also runs in
 * browsers, as does every file that imports nothing of Node.
 *
 * @returns undefined when encoding the bytes again does not give the same text
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  // The decoder throws for most other texts, which takes much longer.
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : undefined;
}
