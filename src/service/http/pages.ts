/**
 * What is served as files: the pages for people, and the API's documentation. All of it comes with the program, and is served
 * from memory: a file opened for each request would hold a descriptor for as long as the client takes to read it.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Request, type Response, Router } from 'express';
import helmet from 'helmet';
import { refuseAmbiguous } from './request/ambiguity.ts';
import type { Locals } from './request/observation.ts';
import { HttpProblem } from './request/problem.ts';
import { endInPieces } from './request/reply.ts';

/**
 * The pages, as built into dist/pages: `/`, `/pages/…` and their files below `/assets/`. Every path below `/pages/` is answered
 * with the same document, whose script shows what the path asks for.
 * @throws Error when the pages have not been built
 */
export function pagesRouter(): Router {
  const folder = pagesFolder();
  const index = fileIn(folder, 'index.html');
  const assets = new Map(
    readdirSync(join(folder, 'assets'))
      .filter((name) => endingOf(name) in CONTENT_TYPES)
      .map((name) => [`/assets/${name}`, fileIn(folder, `assets/${name}`)]),
  );

  const router = Router({ caseSensitive: true, strict: true });
  const serve = (
    paths: string | RegExp,
    route: string,
    answer: (request: Request, response: Response) => void,
  ) =>
    router.all(paths, (request, response) => {
      const locals = response.locals as Locals;
      locals.route = route;
      refuseAmbiguous(request);
      if (request.method !== 'GET' && request.method !== 'HEAD')
        throw new HttpProblem(405, `${route} takes GET, HEAD`, { Allow: 'GET, HEAD' });
      answer(request, response);
    });
  serve('/', '/', (request, response) => sendPageFile(request, response, index, 'no-cache'));
  serve(/^\/pages\/.*$/, '/pages', (request, response) => sendPageFile(request, response, index, 'no-cache'));
  serve(/^\/assets\/.*$/, '/assets', (request, response) => {
    const asset = assets.get(request.path);
    if (!asset) throw new HttpProblem(404, 'There is no such file (hint: load the page again)');
    // Its name changes with its content.
    sendPageFile(request, response, asset, 'public, max-age=31536000, immutable');
  });
  return router;
}

function pagesFolder(): string {
  const index = createRequire(import.meta.url).resolve('#pages/index.html');
  if (!existsSync(index)) throw new Error(`${index} is missing (hint: npm run build)`);
  return dirname(index);
}

/** The content types of the files of the pages. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The encodings in which the build leaves each file, best first, by the ending of the copy. */
const ENCODINGS = { br: 'br', gzip: 'gz' } as const;

/** A file of the pages. */
interface PageFile {
  readonly type: string;
  readonly etag: string;
  /** The content in each encoding. */
  readonly contents: { readonly identity: Buffer } & Partial<Record<keyof typeof ENCODINGS, Buffer>>;
}

function fileIn(folder: string, name: string): PageFile {
  const read = (ending = '') => readFileSync(join(folder, name + ending));
  const identity = read();
  return {
    type: CONTENT_TYPES[endingOf(name)] ?? '',
    etag: `"${createHash('sha256').update(identity).digest('base64url')}"`,
    contents: { identity, br: read('.br'), gzip: read('.gz') },
  };
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

const setPageHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  referrerPolicy: { policy: 'no-referrer' },
});

function sendPageFile(
  request: Request,
  response: Response,
  { type, etag, contents }: PageFile,
  cacheControl: string,
): void {
  (response.locals as Locals).isServed = true;
  setPageHeaders(request, response, () => undefined);
  response.set({ ETag: etag, 'Cache-Control': cacheControl, Vary: 'Accept-Encoding' });
  if (request.fresh) {
    response.status(304).end();
    return;
  }
  const accepted = request.acceptsEncodings([...Object.keys(ENCODINGS), 'identity']);
  const encoding = accepted && accepted in ENCODINGS ? (accepted as keyof typeof ENCODINGS) : 'identity';
  const content = contents[encoding] ?? contents.identity;
  if (content !== contents.identity) response.set('Content-Encoding', encoding);
  response.type(type).set('Content-Length', String(content.length));
  endInPieces(response, content);
}

/** The documentation at /docs: Swagger UI over /openapi.json. */
export function docsRouter(): Router {
  const router = Router();
  router.use((request, response, next) => {
    const locals = response.locals as Locals;
    locals.route = '/docs';
    refuseAmbiguous(request);
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
  for (const [name, type] of Object.entries(DOCS_ASSETS))
    serveDocs(router, `/${name}`, type, readFileSync(resolve(`swagger-ui-dist/${name}`)));
  serveDocs(router, '/', 'text/html', Buffer.from(DOCS_PAGE));
  serveDocs(router, '/start.js', 'text/javascript', Buffer.from(DOCS_SCRIPT));
  return router;
}

/** Files of swagger-ui-dist: those the page loads, and the licences that the bundle points to. */
const DOCS_ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui-bundle.js': 'text/javascript',
  'swagger-ui-bundle.js.LICENSE.txt': 'text/plain',
  'swagger-ui.css': 'text/css',
  'favicon-32x32.png': 'image/png',
};

const DOCS_PAGE = `<!doctype html>
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

const DOCS_SCRIPT = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#swagger-ui', deepLinking: true, persistAuthorization: false, validatorUrl: null });
`;

function serveDocs(router: Router, path: string, type: string, content: Buffer): void {
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
