const WITHIN_MS = 5_000;

/** Whether the service gives out this page now. */
async function isServed(): Promise<boolean> {
  const { pathname } = window.location;
  const asked = fetch(pathname, {
    method: 'HEAD',
    cache: 'no-store',
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  return asked.then(
    ({ ok }) => ok,
    () => false,
  );
}

/**
 * Loads the page again, with whatever it lacks. Without a connection it stays: the browser's own page would take its place,
 * and nothing would lead back.
 * @param isWanted whether it still is, when the service has answered
 * @returns false if the service does not answer
 */
export async function reloadIfServed(isWanted: () => boolean = () => true): Promise<boolean> {
  if (!(await isServed())) return false;
  if (isWanted()) window.location.reload();
  return true;
}
