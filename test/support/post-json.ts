import { type Answer, checked } from './client.ts';

/** Posts a JSON body, and checks the envelope of the answer. A text is sent as it is. */
export async function postJson(
  url: string,
  path: string,
  key: string | undefined,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: {
      'Content-Type': 'application/json',
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...headers,
    },
  });
  return checked(response.status, response.headers, await response.text());
}
