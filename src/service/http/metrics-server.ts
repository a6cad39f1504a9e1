/** Serves /metrics and /healthz on a port of their own, for the service and for a relay that runs on its own. */
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { Registry } from 'prom-client';
import { HttpServer } from './server.ts';

export interface MetricsServer {
  readonly address: string;
  close(): void;
}

/** There are only a few scrapers. */
const CONNECTIONS_PER_ADDRESS = 32;

/** @throws a system error when it cannot listen */
export async function serveMetrics(registry: Registry, host: string, port: number): Promise<MetricsServer> {
  const server = new HttpServer(metricsApp(registry), { connectionsPerAddress: CONNECTIONS_PER_ADDRESS });
  const address = await server.listen(host, port);
  return { address, close: () => server.close() };
}

function metricsApp(registry: Registry): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/metrics', async (_, response) => {
    response.set('Content-Type', registry.contentType).end(await registry.metrics());
  });
  app.get('/healthz', (_, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.use((_, response) => {
    response.status(404).type('text/plain').send('/metrics or /healthz\n');
  });
  // Express recognizes an error handler by its four parameters. Its default one would show the stack.
  app.use((_error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    response.status(500).type('text/plain').send('failed\n');
  });
  return app;
}
