/** Readable documentation at /docs: Swagger UI over /openapi.json, every asset shipped with the program. */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Router, static as staticFiles } from 'express';
import helmet from 'helmet';
import type { Locals } from './locals.ts';
import { HttpProblem } from './problem.ts';

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

export function docsRouter(): Router {
  const router = Router();
  router.use((request, response, next) => {
    const locals = response.locals as Locals;
    locals.route = '/docs';
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new HttpProblem(405, '/docs takes GET, HEAD', { Allow: 'GET, HEAD' });
    next();
  });
  router.use(
    helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        // Swagger UI sets styles from its script, and draws icons from data: URLs.
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
  router.get('/', (_, response) => {
    response.type('html').send(PAGE);
  });
  router.get('/start.js', (_, response) => {
    response.type('text/javascript').send(START);
  });
  const assets = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  router.use(staticFiles(assets, { index: false, redirect: false }));
  return router;
}
