const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text; undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return DECODER.decode(bytes);
  } catch {
    return undefined;
  }
}
