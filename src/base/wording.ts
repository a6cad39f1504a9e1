/** Words of messages: numbers with the noun that they count, and what somebody probably meant. */

/** `1 participant`, `0 participants`, `2 studies`. */
export function counted(count: number, one: string, many?: string): string {
  return `${count} ${plural(count, one, many)}`;
}

/** `participant` for one, otherwise `participants`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** The choice that differs least from `given`, by at most two letters and ignoring case; undefined if there is none. */
export function nearestTo(given: string, choices: readonly string[]): string | undefined {
  const wanted = given.toLowerCase();
  let nearest: string | undefined;
  let shortest = 3;
  for (const choice of choices) {
    const known = choice.toLowerCase();
    if (Math.abs(known.length - wanted.length) >= shortest) continue;
    // Otherwise any two names of two letters would be near each other.
    const distance = editDistance(wanted, known);
    if (distance < shortest && distance < known.length) {
      nearest = choice;
      shortest = distance;
    }
  }
  return nearest;
}

/** Levenshtein distance, one row of the table at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const letter of from.slice(0, 40)) {
    const next = [(row[0] ?? 0) + 1];
    for (let column = 0; column < to.length; column += 1) {
      const replaced = (row[column] ?? 0) + (letter === to[column] ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
