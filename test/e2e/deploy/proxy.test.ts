/** The TLS proxy of deploy/haproxy.cfg, run by HAProxy itself, before two services on one log. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, within } from '../../support/client.ts';
import { STUDIES } from '../../support/load.ts';
import { hasProxy, startProxy, type TlsProxy } from '../../support/proxy.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const folder = temporaryFolders()();

describe.skipIf(!hasProxy())('two instances behind the proxy', () => {
  const data = join(folder, 'data');
  let instances: [Service, Service];
  let proxy: TlsProxy;

  beforeAll(async () => {
    const keys = await issueKeys(data, { edc: ['edc'] });
    const start = () => serve({ data, studies: STUDIES, args: ['--trust-proxy', '1'] });
    instances = await Promise.all([start(), start()]);
    const [a, b] = instances.map(({ url }) => new URL(url).host) as [string, string];
    proxy = await startProxy(folder, [a, b], keys.edc);
  });
  afterAll(async () => {
    proxy?.child.kill('SIGKILL');
    for (const service of instances ?? []) await service.kill();
  });

  const randomize = (study: string, id: string) =>
    proxy.ask('POST', '/study_participants', { study, id, sex: 'F' });
  const list = (study: string) => proxy.ask('GET', '/study_participants', { study });
  const allocations = async ({ url }: Service) => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return Number(/^urn_allocations_total (\d+)$/m.exec(metrics)?.[1]);
  };

  it('answers over TLS, and each study is one instance’s as long as it is ready', async () => {
    for (let id = 1; id <= 10; id++) expect((await randomize('One', String(id))).status).toBe(200);
    expect((await Promise.all(instances.map(allocations))).toSorted((a, b) => a - b)).toEqual([0, 10]);
    expect((await list('One')).results).toHaveLength(10);
  });

  it('goes on with the other instance when one is killed, and loses nothing', async () => {
    const counts = await Promise.all(instances.map(allocations));
    await instances[counts.indexOf(10)]?.kill();
    for (let id = 11; id <= 20; id++)
      await within(10_000, async () => {
        const { status } = await randomize('One', String(id)).catch(() => ({ status: 0 }));
        return status === 200;
      });
    const { results } = await list('One');
    expect(results.map(({ id }: { id: string }) => id)).toEqual(
      Array.from({ length: 20 }, (_, i) => String(i + 1)),
    );
  });

  it('keeps the metrics for the operator, and speaks no plain HTTP', async () => {
    const { status, text } = await proxy.get('/metrics');
    expect(status).toBe(404);
    expect(text).not.toContain('urn_');
    await expect(ask(`http://127.0.0.1:${proxy.port}`, '/healthz')).rejects.toThrow();
  });
});
