/**
 * For which pages this tab has loaded itself again, in which versions: once each, so that it never goes round in circles, not
 * even between two instances of different versions. Forgotten when the page could be loaded.
 */
const PLACE = 'urn.reloaded';

/** The name of the program's first file changes with the version. */
function nameOf(page: string): string {
  return `${page} ${document.querySelector<HTMLScriptElement>('script[type=module]')?.src}`;
}

function reloads(): readonly string[] {
  return JSON.parse(sessionStorage.getItem(PLACE) ?? '[]') as string[];
}

export function isFirstReload(page: string): boolean {
  return !reloads().includes(nameOf(page));
}

export function noteReload(page: string): void {
  sessionStorage.setItem(PLACE, JSON.stringify([...reloads(), nameOf(page)]));
}

export function forgetReloads(page: string): void {
  const others = reloads().filter((name) => !name.startsWith(`${page} `));
  if (others.length > 0) sessionStorage.setItem(PLACE, JSON.stringify(others));
  else sessionStorage.removeItem(PLACE);
}
