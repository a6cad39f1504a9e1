/**
 * JSON text of a response. JSON.stringify can neither write integers above 2^53 as bare numbers, which the contract wants,
 * nor keep the order of members with names like "10" and "9". So large integers are bigints here, and such objects are Maps.
 */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`;
  if (value instanceof Map) return members([...value]);
  if (typeof value === 'object' && value !== null) return members(Object.entries(value));
  return JSON.stringify(value);
}

function members(entries: readonly (readonly [string, unknown])[]): string {
  const present = entries.filter(([, value]) => value !== undefined);
  return `{${present.map(([name, value]) => `${JSON.stringify(name)}:${toJson(value)}`).join(',')}}`;
}
