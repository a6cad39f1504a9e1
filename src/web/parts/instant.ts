/** Instants in the form of the browser's fields: in the reader's zone, without naming it. */

/** In ISO 8601 (UTC). */
export function instantOf(local: string): string {
  return new Date(local).toISOString();
}

/** The present minute. */
export function localNow(): string {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
