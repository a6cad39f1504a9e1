/** The TLS proxy of deploy/haproxy.cfg, run by HAProxy itself, before two services on one log. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, ask, checked, within } from '../../support/client.ts';
import { inCi } from '../../support/in-ci.ts';
import { STUDIES } from '../../support/load.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const DEPLOY = fileURLToPath(new URL('../../../deploy', import.meta.url));
const isHere = spawnSync('haproxy', ['-v'], { stdio: 'ignore' }).status === 0;
if (!isHere && inCi) throw new Error('CI must have HAProxy (Debian: haproxy)');
// biome-ignore lint/suspicious/noConsole: what is left out must be heard of
if (!isHere) console.warn('SKIPPED: the proxy of deploy/ needs HAProxy (Debian: haproxy)');

const folder = temporaryFolders()();

describe.skipIf(!isHere)('two instances behind the proxy', () => {
  const data = join(folder, 'data');
  const certificate = join(folder, 'proxy.pem');
  let keys: Record<'edc', string>;
  let instances: Service[];
  let proxy: ChildProcess;
  let port: number;

  beforeAll(async () => {
    keys = await issueKeys(data, { edc: ['edc'] });
    const start = () => serve({ data, studies: STUDIES, args: ['--trust-proxy', '1'] });
    instances = await Promise.all([start(), start()]);
    execFileSync('sh', [join(DEPLOY, 'make-certificate.sh'), certificate], { stdio: 'ignore' });
    port = await freePort();
    const [first, second] = instances.map(({ url }) => new URL(url).host);
    proxy = spawn('haproxy', ['-f', join(DEPLOY, 'haproxy.cfg'), '-db'], {
      stdio: 'ignore',
      env: {
        ...process.env,
        LISTEN: `127.0.0.1:${port}`,
        CERTIFICATE: certificate,
        INSTANCE_1: first,
        INSTANCE_2: second,
      },
    });
    await within(
      10_000,
      async () => (await askProxy('GET', '/healthz').catch(() => undefined))?.status === 200,
    );
  });
  afterAll(async () => {
    proxy?.kill('SIGKILL');
    for (const service of instances ?? []) await service.kill();
  });

  const askProxy = (method: string, path: string, parameters: Record<string, string> = {}) =>
    askOverTls(port, certificate, method, `${path}?${new URLSearchParams(parameters)}`, keys.edc);
  const randomize = (study: string, id: string) =>
    askProxy('POST', '/study_participants', { study, id, sex: 'F' });
  const allocations = async ({ url }: Service) => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return Number(/^urn_allocations_total (\d+)$/m.exec(metrics)?.[1]);
  };

  it('answers over TLS, and each study is one instance’s as long as it is ready', async () => {
    for (let id = 1; id <= 10; id++) expect((await randomize('One', String(id))).status).toBe(200);
    expect((await Promise.all(instances.map(allocations))).toSorted((a, b) => a - b)).toEqual([0, 10]);
    const own = await askProxy('GET', '/study_participants', { study: 'One' });
    expect(own.results).toHaveLength(10);
  });

  it('goes on with the other instance when one is killed, and loses nothing', async () => {
    const counts = await Promise.all(instances.map(allocations));
    const busy = instances[counts.indexOf(10)];
    await busy?.kill();
    const acknowledged: string[] = [];
    for (let id = 11; id <= 20; id++)
      await within(10_000, async () => {
        const { status } = await randomize('One', String(id)).catch(() => ({ status: 0 }));
        // A request that the killed one had taken in may be recorded; none is here.
        if (status === 200) acknowledged.push(String(id));
        return status === 200;
      });
    expect(acknowledged).toHaveLength(10);
    const { results } = await askProxy('GET', '/study_participants', { study: 'One' });
    expect(results.map(({ id }: { id: string }) => id)).toEqual(
      Array.from({ length: 20 }, (_, i) => String(i + 1)),
    );
  });

  it('keeps the metrics for the operator, and speaks no plain HTTP', async () => {
    const { status, text } = await overTls(port, certificate, 'GET', '/metrics', keys.edc);
    expect(status).toBe(404);
    expect(text).not.toContain('urn_');
    await expect(ask(`http://127.0.0.1:${port}`, '/healthz')).rejects.toThrow();
  });
});

async function askOverTls(...asked: Parameters<typeof overTls>): Promise<Answer> {
  const { status, headers, text } = await overTls(...asked);
  return checked(status, headers, text);
}

function overTls(
  port: number,
  certificate: string,
  method: string,
  path: string,
  key: string,
): Promise<{ status: number; headers: Headers; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: 'localhost', port, method, path, ca: readFileSync(certificate), agent: false };
    const asked = request({ ...options, headers: { 'X-API-Key': key } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('error', reject);
      response.once('end', () => {
        const headers = new Headers(
          Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
        );
        resolve({ status: response.statusCode ?? 0, headers, text });
      });
    });
    asked.once('error', reject);
    asked.end();
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });
}
