/** Readable documentation at /docs: Swagger UI over /openapi.json. All its assets come with the program. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Router } from 'express';
import helmet from 'helmet';
import type { Locals } from './request/locals.ts';
import { HttpProblem } from './request/problem.ts';
import { endInPieces } from './request/reply.ts';
import { refuseUnsound } from './soundness.ts';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Randomization service: HTTP API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<noscript>This page needs JavaScript; the same description for machines is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#swagger-ui', deepLinking: true, persistAuthorization: false, validatorUrl: null });
`;

/** Files of swagger-ui-dist: those the page loads, and the licences that the bundle points to. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui-bundle.js': 'text/javascript',
  'swagger-ui-bundle.js.LICENSE.txt': 'text/plain',
  'swagger-ui.css': 'text/css',
  'favicon-32x32.png': 'image/png',
};

export function docsRouter(): Router {
  const router = Router();
  router.use((request, response, next) => {
    const locals = response.locals as Locals;
    locals.route = '/docs';
    refuseUnsound(request);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new HttpProblem(405, '/docs takes GET, HEAD', { Allow: 'GET, HEAD' });
    next();
  });
  router.use(
    helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        // Swagger UI sets styles from its script, and loads icons from data: URLs.
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'"],
          styleSrc: ["'self'", "'unsafe-inline'"],
          imgSrc: ["'self'", 'data:'],
          connectSrc: ["'self'"],
          baseUri: ["'none'"],
          formAction: ["'none'"],
          frameAncestors: ["'none'"],
        },
      },
    }),
  );
  const { resolve } = createRequire(import.meta.url);
  // Served from memory: a file opened for each request would hold a descriptor for as long as the client takes to read it.
  for (const [name, type] of Object.entries(ASSETS))
    serve(router, `/${name}`, type, readFileSync(resolve(`swagger-ui-dist/${name}`)));
  serve(router, '/', 'text/html', Buffer.from(PAGE));
  serve(router, '/start.js', 'text/javascript', Buffer.from(START));
  return router;
}

function serve(router: Router, path: string, type: string, content: Buffer): void {
  const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
  router.get(path, (request, response) => {
    (response.locals as Locals).isServed = true;
    response.set({ ETag: etag, 'Cache-Control': 'no-cache' });
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    response.type(type).set('Content-Length', String(content.length));
    endInPieces(response, content);
  });
}
