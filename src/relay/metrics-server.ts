/** /metrics and /healthz of a relay that runs by itself. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

export interface MetricsServer {
  readonly address: string;
  close(): Promise<void>;
}

/** @throws Error of the system when it cannot listen */
export async function serveMetrics(registry: Registry, host: string, port: number): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, text: string) =>
      response.writeHead(status, { 'Content-Type': type }).end(text);
    if (request.url === '/healthz') answer(200, 'text/plain', 'ok\n');
    else if (request.url !== '/metrics') answer(404, 'text/plain', '/metrics or /healthz\n');
    else
      registry.metrics().then(
        (text) => answer(200, registry.contentType, text),
        () => answer(500, 'text/plain', 'failed\n'),
      );
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { address, family, port: taken } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`, close };
}
