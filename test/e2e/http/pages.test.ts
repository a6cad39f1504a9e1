import { request as httpRequest } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { served } from '../../support/served.ts';
import { TRIALS } from '../../support/trials.ts';

const http = served(TRIALS, {});
/** The script that the document loads. */
let script: string;

beforeAll(async () => {
  const { body } = await get('/');
  [script = ''] = /\/assets\/index-[\w-]+\.js/.exec(body.toString()) ?? [];
});

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As received, without decompression. */
  readonly body: Buffer;
}

function get(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${http.url}${path}`, { headers, method }, (response) => {
      const { statusCode: status = 0, headers: given } = response;
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => resolve({ status, headers: given, body: Buffer.concat(pieces) }));
    });
    request.on('error', reject).end();
  });
}

describe('the pages', () => {
  it.each(['/', '/pages/', '/pages/anything/below?it=1'])('%s is the document', async (path) => {
    const { status, headers, body } = await get(path);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['cache-control']).toBe('no-cache');
    expect(body.toString()).toContain('<div id="root"></div>');
  });

  it('run only their own scripts and styles, cannot be framed, and send no referrer', async () => {
    const { headers, body } = await get('/');
    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';base-uri 'none';form-action 'none';frame-ancestors 'none'",
      ...{ 'referrer-policy': 'no-referrer', 'cross-origin-opener-policy': 'same-origin' },
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(body.toString()).not.toMatch(/<style|style=|<script(?![^>]* src=)/);
  });

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const)('are sent as the build compressed them: %s', async (encoding, decompress) => {
    const { status, headers: given, body: plain } = await get(script);
    expect([status, given['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
    // Their names change with their content.
    expect(given['cache-control']).toBe('public, max-age=31536000, immutable');
    const { headers, body } = await get(script, { 'Accept-Encoding': encoding });
    expect(headers['content-encoding']).toBe(encoding);
    expect(headers['content-length']).toBe(String(body.length));
    expect(headers['vary']).toBe('Accept-Encoding');
    expect(body.length).toBeLessThan(plain.length / 2);
    expect(decompress(body).equals(plain)).toBe(true);
  });

  it('are not sent again to a browser that has them, nor to HEAD', async () => {
    const { headers } = await get('/');
    const again = await get('/', { 'If-None-Match': String(headers['etag']) });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    const head = await get('/pages/study', {}, 'HEAD');
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(500);
  });
});
