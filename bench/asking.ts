/** Single requests, and how long their answers take. */
import { get } from 'node:http';

/** Keeps asking for something short. `stop` returns how long the longest answer took, in ms. */
export function startAsking(port: number): { stop(): Promise<number> } {
  let isStopped = false;
  let longest = 0;
  const asking = (async () => {
    while (!isStopped) longest = Math.max(longest, await timed(port, 'GET', '/healthz', {}));
  })();
  return {
    stop: async () => {
      isStopped = true;
      await asking;
      return longest;
    },
  };
}

/** How long the answer took to its last byte, in ms. */
export function timed(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<number> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', method, path, headers, agent: false };
    const request = get(options, (response) => {
      response.resume();
      response.once('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - started);
        else reject(new Error(`${method} ${path.split('?')[0]} answered ${response.statusCode}`));
      });
    });
    request.once('error', reject);
  });
}
