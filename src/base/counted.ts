/** Numbers with the noun that they count. */

/** `participant` for one, otherwise `participants`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** `1 participant`, `0 participants`, `2 studies`. */
export function counted(count: number, one: string, many?: string): string {
  return `${count} ${plural(count, one, many)}`;
}
