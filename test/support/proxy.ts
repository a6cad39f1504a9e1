/** HAProxy with deploy/haproxy.cfg, and a client that trusts its certificate. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checked, within } from './client.ts';
import { sendRaw } from './cookie-client.ts';
import { freePorts } from './free-ports.ts';
import { inCi } from './in-ci.ts';

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
const READY_WITHIN_MS = 30_000;

/** Whether HAProxy is installed. Prints a warning if it is not, and fails in CI. */
export function hasProxy(): boolean {
  const isHere = spawnSync('haproxy', ['-v'], { stdio: 'ignore' }).status === 0;
  if (!isHere && inCi) throw new Error('CI must have HAProxy (Debian: haproxy)');
  // biome-ignore lint/suspicious/noConsole: a skipped test must not go unnoticed
  if (!isHere) console.warn('SKIPPED: the proxy of deploy/ needs HAProxy (Debian: haproxy)');
  return isHere;
}

export type TlsProxy = Awaited<ReturnType<typeof startProxy>>;

/**
 * Starts it in front of two instances. Resolves when a request gets through.
 * @param hosts of the instances, with their ports
 * @param key sent with every request
 * @param resolver address and port of the name server; not needed for plain addresses
 */
export async function startProxy(
  folder: string,
  hosts: readonly [string, string],
  key: string,
  resolver = '127.0.0.1:53',
) {
  const certificate = join(folder, 'proxy.pem');
  execFileSync('sh', [join(DEPLOY, 'make-certificate.sh'), certificate], { stdio: 'ignore' });
  const [port = 0] = await freePorts(1);
  const child = spawn('haproxy', ['-f', join(DEPLOY, 'haproxy.cfg'), '-db'], {
    stdio: 'ignore',
    env: {
      ...process.env,
      LISTEN: `127.0.0.1:${port}`,
      CERTIFICATE: certificate,
      INSTANCE_1: hosts[0],
      INSTANCE_2: hosts[1],
      RESOLVER: resolver,
    },
  });
  const raw = (method: string, path: string) =>
    sendRaw(`https://localhost:${port}${path}`, { method, headers: { 'X-API-Key': key }, ca: certificate });
  /** A request with the envelope of the contract. */
  const ask = async (method: string, path: string, parameters: Readonly<Record<string, string>> = {}) => {
    const { status, headers, text } = await raw(method, `${path}?${new URLSearchParams(parameters)}`);
    return checked(status, headers, text);
  };
  await within(READY_WITHIN_MS, async () => {
    if (child.exitCode !== null) throw new Error(`HAProxy exited with ${child.exitCode}`);
    return (await raw('GET', '/healthz').catch(() => undefined))?.status === 200;
  });
  /** Any path, with the query in it. */
  const get = (path: string) => raw('GET', path);
  return { port, child, get, ask };
}
