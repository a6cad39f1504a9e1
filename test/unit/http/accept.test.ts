import { expect, it } from 'vitest';
import { wantsCsv } from '../../../src/service/http/request/accept.ts';

it.each([
  [true, ['text/csv', 'TEXT/CSV; charset=utf-8', 'text/csv;q=0.2, */*;q=0.9', 'text/csv, application/json']],
  [true, ['application/json;q=0.5, text/csv;q=0.5']],
  [false, [undefined, '*/*', 'text/*', 'application/json', 'text/html,*/*;q=0.8', 'text/csv;q=0', ',;=']],
  [false, ['text/csv;q=0.5, application/json', 'text/csv;q=2', 'text/csv-schema']],
])('a list is CSV: %s, with Accept: %s', (expected, accepts) => {
  for (const accept of accepts) expect(wantsCsv({ headers: { accept } }), accept).toBe(expected);
});
