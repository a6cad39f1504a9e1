/** A connection that can break: a proxy in front of the service that can swallow requests, or their answers. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export type SwallowingProxy = Awaited<ReturnType<typeof swallowingProxy>>;

/** @param target address of the service */
export async function swallowingProxy(target: string) {
  const proxy = {
    /** What happens to each POST from now on. Other requests always get through. */
    posts: 'pass' as 'pass' | 'answer-lost' | 'held',
    /** How many POSTs it got, whatever happened to them. */
    received: 0,
  };
  const server = createServer((asked, answer) => {
    const isPost = asked.method === 'POST' && !asked.url?.startsWith('/session');
    if (isPost) proxy.received++;
    const fate = isPost ? proxy.posts : 'pass';
    if (fate === 'held') return;
    const onward = request(
      new URL(asked.url ?? '/', target),
      { method: asked.method, headers: asked.headers },
      (response) => {
        if (fate === 'answer-lost') {
          response.resume().once('end', () => answer.destroy());
          return;
        }
        answer.writeHead(response.statusCode ?? 502, response.rawHeaders);
        response.pipe(answer);
      },
    );
    onward.once('error', () => answer.destroy());
    asked.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(proxy, { url, close });
}
