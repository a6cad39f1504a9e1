/** The limits on connections that take long in the real program, with shorter ones. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import express from 'express';
import { describe, expect, it, type TestContext } from 'vitest';
import { readJson } from '../../src/service/http/request/json-body.ts';
import type { HttpProblem } from '../../src/service/http/request/problem.ts';
import { endInPieces } from '../../src/service/http/request/reply.ts';
import { HttpServer } from '../../src/service/http/server.ts';
import { makeCertificate } from '../support/certificate.ts';
import { within } from '../support/client.ts';
import { open, readAll } from '../support/hostile.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const STALLED_MS = 1_500;
/** Read at a time by a slow client: more than what the system keeps on the way is left when that ends. */
const BURST = 256 * 1024;
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');
const { certFile, keyFile } = makeCertificate(temporaryFolders()(), 'IP:127.0.0.1');

/** Sends a request to a server with the limits above, and reads nothing. */
async function asked(path: string, secure: boolean, { onTestFinished }: TestContext) {
  const app = express();
  const gone: string[] = [];
  app.use((request, response, next) => {
    response.once('close', () => gone.push(request.path));
    next();
  });
  app.get('/large', (_, response) => endInPieces(response, LARGE));
  app.get('/slow', (_, response) => setTimeout(() => response.end('done'), STALLED_MS * 4));
  const server = new HttpServer(app, {
    limits: { stalledMs: STALLED_MS },
    tls: secure ? { certFile, keyFile } : undefined,
  });
  const { port } = new URL(await server.listen('127.0.0.1', 0));
  const at = { host: '127.0.0.1', port: Number(port) };
  const socket = secure ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  socket.on('error', () => undefined).pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return { socket, gone };
}

// At the same time, since they wait for the limits: each has its own server and connection.
describe.concurrent.each([
  ['plain', false],
  ['over TLS', true],
])('%s', (_, secure) => {
  it('an answer is abandoned if the client reads none of it', async (test) => {
    const { gone } = await asked('/large', secure, test);
    await within(30_000, async () => gone.includes('/large'));
  });

  it('an answer is not abandoned if the client reads it slowly', async (test) => {
    const { socket, gone } = await asked('/large', secure, test);
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      // A burst, and then nothing for a while that is much shorter than what is allowed.
      if (bytes % BURST < chunk.length) socket.pause();
    });
    for (let i = 0; i < 40; i++) {
      socket.resume();
      await delay(STALLED_MS / 8);
    }
    expect(gone).toEqual([]);
    expect(bytes).toBeLessThan(LARGE.length);
    socket.removeAllListeners('data').on('data', (chunk) => {
      bytes += chunk.length;
    });
    socket.resume();
    await within(30_000, async () => bytes > LARGE.length);
  });

  it('an answer is not abandoned if it takes long to compute', async (test) => {
    const { socket } = await asked('/slow', secure, test);
    const [answer] = await Promise.all([
      new Promise<Buffer>((resolve) => socket.once('data', resolve)),
      socket.resume(),
    ]);
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200[\s\S]*done$/);
  });
});

describe('a body that is never complete', () => {
  const head = 'POST /json HTTP/1.1\r\nHost: x\r\n';

  /** Everything that is answered before the connection ends. */
  async function answers(sent: string, endsItsSide: boolean, { onTestFinished }: TestContext) {
    const app = express();
    app.get('/', (_, response) => {
      setTimeout(() => response.end('first\r\n'), 100);
    });
    app.post('/json', (request, response) =>
      readJson(request).then(
        () => response.end('read'),
        ({ status, message }: HttpProblem) => response.status(status).end(message),
      ),
    );
    const server = new HttpServer(app, {
      limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 1_000, timeoutCheckMs: 100 },
    });
    const socket = await open(await server.listen('127.0.0.1', 0));
    onTestFinished(() => {
      socket.destroy();
      server.close();
    });
    socket.write(sent);
    if (endsItsSide) socket.end();
    return (await readAll(socket)).split('\r\n').filter((line) => /^(HTTP|[a-zA-Z ]+$)/.test(line));
  }

  const late = ['HTTP/1.1 408 Request Timeout', 'The request took too long to arrive'];
  const broken = ['HTTP/1.1 400 Bad Request', 'The request is not valid HTTP'];

  const begun = `${head}Content-Length: 9\r\n\r\n{`;
  const chunk = `${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\nz\r\n`;
  const first = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  it.concurrent.for<[string, string, boolean, string[]]>([
    ['does not arrive', begun, false, late],
    ['has a chunk that is not HTTP', chunk, false, broken],
    ['ends with the connection', begun, true, broken],
    ['follows an unanswered request', `${first}${begun}`, true, ['HTTP/1.1 200 OK', 'first', ...broken]],
  ])('is answered, and its connection ends, if it %s', async ([, sent, endsItsSide, expected], test) => {
    expect(await answers(sent, endsItsSide, test)).toEqual(expected);
  });
});
